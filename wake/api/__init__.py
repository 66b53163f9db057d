"""Serves WAKE v1 over REST."""
