"""Lets people review several outputs on one page, answer them together, and take the answers
back."""
