"""What a person said "Got it" to a moment ago: the session of their browser keeps its ids for a
while, so that they can bring it back. No words: those would outlive an erasure there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase

from accounts.models import User
from inbox.places import read_ids
from wake.models import Delivery

KEY = "got_it"
SHOWN_FOR = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class GotIt:
    """`headline` is there where it was one that they can still see."""

    ids: tuple[UUID, ...]
    headline: str

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def value(self) -> str:
        return as_value(self.ids)


def as_value(ids: Collection[UUID]) -> str:
    """Of a button: forms send nothing of boxes that are not checked."""
    return ",".join(map(str, ids))


def remember(session: SessionBase, rows: list[Delivery], *, at: datetime) -> None:
    session[KEY] = {
        "ids": [str(row.pk) for row in rows],
        "until": (at + SHOWN_FOR).timestamp(),
    }


def remembered(session: SessionBase, *, by: User, at: datetime) -> GotIt | None:
    kept = session.get(KEY)
    if kept is None or kept["until"] <= at.timestamp():
        return None
    ids = read_ids(kept["ids"])
    return GotIt(ids, _headline(ids[0], by) if len(ids) == 1 else "")


def forget(session: SessionBase) -> None:
    session.pop(KEY, None)


def _headline(pk: UUID, by: User) -> str:
    found = Delivery.objects.for_person(by).filter(pk=pk).values_list("headline", flat=True)
    return found.first() or ""


def told(taken: list[Delivery], asked: Collection[UUID], *, by: User) -> str:
    """Why something stays; empty where all went as asked."""
    if not asked:
        return "Nothing is selected yet: tick some boxes first."
    if len(taken) == len(asked):
        return ""
    waiting = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=asked).awaiting_response()
    staying = waiting.count()
    if staying == 1:
        return "One needs an answer, so it stays."
    if staying:
        return f"{staying} need an answer, so they stay."
    return "" if taken else "Nothing was left to do: somebody was here before you."
