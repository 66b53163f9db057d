"""Sends signed callbacks: queued as rows, tried for three days, and only to allowed hosts."""
