"""Remembers in the session what a person acknowledged a moment ago, so that they can undo it.

The session keeps ids only: headlines would survive there after retention erases the delivery.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase

from accounts.models import User
from inbox.pages.filter_state import read_ids
from wake.models import Delivery

KEY = "got_it"
UNDO_FOR = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The acknowledged ids; `headline` is set for a single delivery that the person may still
    see."""

    ids: tuple[UUID, ...]
    headline: str

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def value(self) -> str:
        return button_value(self.ids)


def button_value(ids: Collection[UUID]) -> str:
    """Returns the value of a button for these ids; a form does not send unchecked boxes."""
    return ",".join(map(str, ids))


def remember(session: SessionBase, rows: list[Delivery], *, at: datetime) -> None:
    session[KEY] = {
        "ids": [str(row.pk) for row in rows],
        "until": (at + UNDO_FOR).timestamp(),
    }


def remembered(session: SessionBase, *, by: User, at: datetime) -> Acknowledged | None:
    stored = session.get(KEY)
    if stored is None or stored["until"] <= at.timestamp():
        return None
    ids = read_ids(stored["ids"])
    return Acknowledged(ids, _headline(ids[0], by) if len(ids) == 1 else "")


def forget(session: SessionBase) -> None:
    session.pop(KEY, None)


def _headline(pk: UUID, by: User) -> str:
    headlines = Delivery.objects.for_person(by).filter(pk=pk).values_list("headline", flat=True)
    return headlines.first() or ""


def warning(acknowledged: list[Delivery], requested: Collection[UUID], *, by: User) -> str:
    """Returns why some of the requested deliveries stay in the list; empty if none does."""
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
    return "" if acknowledged else "Already done by someone else."
