"""Writes JSON in the form that rows store, and measures it."""

import json

# There is one encoder for all calls, because json.dumps() makes a new encoder each time.
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def bytes_in(*texts: str) -> int:
    """Returns the size of these texts as UTF-8, in bytes."""
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
