"""Writes JSON as rows store it, and measures it."""

import json

# One encoder for all calls: json.dumps() makes a new one each time.
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def bytes_in(*texts: str) -> int:
    """Returns how many bytes these texts take up as UTF-8."""
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
