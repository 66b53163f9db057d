"""Tells open pages at once that something happened in the inbox."""
