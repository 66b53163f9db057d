"""Reads UUIDs as addresses, forms and messages give them."""

from __future__ import annotations

from uuid import UUID

NIL = UUID(int=0)  # no row has it, so that a search for it costs what any other search costs


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
