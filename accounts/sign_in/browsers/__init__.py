"""Knows the browsers in which people are signed in."""
