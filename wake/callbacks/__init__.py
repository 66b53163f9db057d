"""Sends signed callbacks. They are queued as rows, tried for three days, and sent only to allowed
hosts."""
