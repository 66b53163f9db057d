"""Turns a coding agent's permission prompt into a question that people answer in Wake (`wake
hook`)."""
