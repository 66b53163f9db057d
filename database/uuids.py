"""Reads UUIDs in the forms that addresses, forms and messages contain."""

from __future__ import annotations

from uuid import UUID

NIL = UUID(int=0)  # no row has this id, so a search for it costs the same as any other


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
