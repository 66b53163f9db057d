"""Checks a key before it is sent anywhere, so that no error message contains it."""

from __future__ import annotations


def checked(key: str | None) -> str:
    """Returns the key without surrounding white space. Raises ValueError if the text cannot be a
    key."""
    text = (key or "").strip()
    if not text:
        raise ValueError("A key is needed: the wk_live_... that was issued for your agent.")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("This is not a key: it contains a space or a character that no key has.")
    return text
