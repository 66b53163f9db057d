"""Lets a person give a terminal a key by typing its code into a page (RFC 8628)."""
