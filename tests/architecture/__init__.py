"""Holds what the code promises its readers: one-way imports, habits, words and figures."""
