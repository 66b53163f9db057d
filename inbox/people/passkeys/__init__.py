"""Lets people sign in with passkeys, and manage them."""
