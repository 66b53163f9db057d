"""Remembers in the session what a person just acknowledged, so that they can undo it.

The session stores only ids, because headlines would stay there after retention erases the delivery.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase

from accounts.models import User
from database.clock import EPOCH
from inbox.reading.done import button_value
from inbox.search.filter_state import read_ids
from wake.models import Delivery

KEY = "acknowledged"
UNDO_FOR = timedelta(minutes=2)
# The rows stay in the list this long, so that no other row moves under the pointer.
STRUCK_FOR = timedelta(seconds=10)
MAX_REMEMBERED = 10


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Holds the deliveries that one click on "Got it" acknowledged. `are_failures` is True if the
    actions of these deliveries had failed after an approval."""

    ids: tuple[UUID, ...]
    at: datetime
    are_failures: bool = False

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def value(self) -> str:
        return button_value(self.ids)

    def is_struck(self, at: datetime) -> bool:
        return at < self.at + STRUCK_FOR


def remember(session: SessionBase, rows: list[Delivery], *, at: datetime) -> None:
    entry = {
        "ids": [str(row.pk) for row in rows],
        "at": (at - EPOCH).total_seconds(),
        "are_failures": all(row.answered_at is not None for row in rows),
    }
    session[KEY] = [entry, *session.get(KEY, [])][:MAX_REMEMBERED]


def remembered(session: SessionBase, *, at: datetime) -> list[Acknowledged]:
    """Returns the acknowledgements that can still be undone, newest first."""
    stored: list[dict[str, Any]] = session.get(KEY, [])
    entries = [
        Acknowledged(
            read_ids(entry["ids"]),
            EPOCH + timedelta(seconds=entry["at"]),
            are_failures=entry.get("are_failures", False),
        )
        for entry in stored
    ]
    return [entry for entry in entries if entry.ids and at < entry.at + UNDO_FOR]


def forget(session: SessionBase, ids: Collection[UUID]) -> None:
    """Forgets these deliveries, which are in the inbox again."""
    undone = set(map(str, ids))
    stored = session.get(KEY, [])
    left = [{**entry, "ids": [pk for pk in entry["ids"] if pk not in undone]} for entry in stored]
    session[KEY] = [entry for entry in left if entry["ids"]]


def warning(acknowledged: list[Delivery], requested: Collection[UUID], *, by: User) -> str:
    """Returns why some of the requested deliveries stay in the list, or an empty text if none
    stays."""
    if not requested:
        return "Nothing selected. Select some deliveries first."
    if len(acknowledged) == len(requested):
        return ""
    waiting = (
        Delivery.objects.that_may_be_answered_by(by).filter(pk__in=requested).awaiting_response()
    )
    staying = waiting.count()
    if staying == 1:
        return "One needs an answer, so it stays in the inbox."
    if staying:
        return f"{staying} need an answer, so they stay in the inbox."
    return "" if acknowledged else "Someone else has already dealt with it."
