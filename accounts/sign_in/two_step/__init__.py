"""Asks for a second factor: a code of an app, or a recovery code."""
