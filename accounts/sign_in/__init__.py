"""Lets people sign in, and asks for their password or second factor again."""
