"""Describes a person's recent actions on deliveries, for the list and for a page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Done:
    """Describes one answer, or one click on "Got it". `words` is `Approved`, `note` is `Goes to the
    agent in 8 s.`, and `later_note` replaces it after `hold_seconds`."""

    ids: tuple[UUID, ...]
    at: datetime
    words: str
    note: str
    undo_path: str
    headline: str = ""
    is_answer: bool = False
    can_be_undone: bool = True
    later_note: str = ""
    hold_seconds: int = 0

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def delivery_id(self) -> UUID:
        return self.ids[0]

    @property
    def value(self) -> str:
        return button_value(self.ids)


def button_value(ids: Collection[UUID]) -> str:
    """Returns the ids as the value of a button, because a form does not send unchecked boxes."""
    return ",".join(map(str, ids))
