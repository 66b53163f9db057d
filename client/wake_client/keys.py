"""What may be a key: looked at before it is sent anywhere, so that no error shows it."""

from __future__ import annotations


def checked(key: str | None) -> str:
    """Without what a file or a copy has left around it. Raises ValueError."""
    text = (key or "").strip()
    if not text:
        raise ValueError("A key is needed: the wk_live_... that was issued for your agent.")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("This is no key: it has a space or a character that no key has.")
    return text
