"""Reads the subscriptions of browsers, and encrypts and signs the messages for them."""
