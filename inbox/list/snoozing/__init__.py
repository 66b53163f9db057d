"""Puts deliveries off for one person."""
