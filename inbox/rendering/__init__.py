"""Turns content from agents into HTML that is safe to show."""
