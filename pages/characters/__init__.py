"""Knows which characters people cannot see, or cannot tell apart."""
