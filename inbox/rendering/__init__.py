"""Turns what agents sent into HTML that is safe to show."""
