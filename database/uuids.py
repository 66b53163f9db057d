"""Ids, as addresses and people give them."""

from __future__ import annotations

from uuid import UUID


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
