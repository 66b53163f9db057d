"""Answers that were sent together: each in a transaction of its own, and all of them can be taken
back at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Self
from uuid import UUID, uuid4

from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError

from accounts.access import NotAllowed
from accounts.encryption import Unreadable
from accounts.models import User
from inbox.batch_review import Choice
from inbox.fates import Fate, fate
from inbox.reading import mark_many_read
from inbox.rows import NOT_SHOWN
from inbox.viewer import Viewer
from wake.models import Delivery, Response
from wake.models.content import as_stored, opened
from wake.responses import (
    AlreadyAnswered,
    ContentChanged,
    PickedUp,
    Withdrawn,
    respond,
    take_back,
)

log = logging.getLogger(__name__)

KEY = "batches"
KEPT = 3

SENT, FIRST, CHANGED, GONE, FAILED = "sent", "first", "changed", "gone", "failed"
WITHDRAWN = "withdrawn"
TOLD = {
    CHANGED: "It changed after you read it: read it again, then answer.",
    WITHDRAWN: str(Withdrawn.__doc__),
    GONE: "It is no longer yours to answer.",
    FAILED: "Something on our side failed. Nothing was sent.",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of each choice, as the session keeps it: the id, the answer and the outcome. The
    note is there for what was not sent: who sent it all has it in the answers, from where retention
    erases it."""

    id: UUID
    note: str
    results: list[tuple[UUID, str, str]]

    @classmethod
    def kept(cls, session: SessionBase, pk: UUID) -> Self | None:
        for kept in session.get(KEY, []):
            if kept["id"] == str(pk):
                results = [(UUID(id), status, outcome) for id, status, outcome in kept["results"]]
                return cls(pk, _note(kept["note"]), results)
        return None

    def keep(self, session: SessionBase) -> None:
        mine: dict[str, Any] = {"id": str(self.id), "note": as_stored(self.note)}
        mine["results"] = [(str(pk), status, outcome) for pk, status, outcome in self.results]
        session[KEY] = [mine, *session.get(KEY, [])][:KEPT]

    def ids(self, *, sent: bool) -> list[UUID]:
        return [pk for pk, _, outcome in self.results if (outcome == SENT) is sent]


@dataclass(frozen=True, slots=True)
class Line:
    """One of them now. `fate` is of the answer that counts, where there is one."""

    delivery: Delivery | None
    status: str
    outcome: str
    fate: Fate | None
    told: str

    @property
    def title(self) -> str:
        return Response.Status(self.status).label

    @property
    def is_taken_back(self) -> bool:
        return self.outcome == SENT and self.fate is None

    @property
    def is_on_its_way(self) -> bool:
        return self.outcome == SENT and self.fate is not None

    @property
    def can_be_undone(self) -> bool:
        return self.is_on_its_way and self.fate is not None and self.fate.can_be_undone


def send(choices: Iterable[Choice], *, by: User, note: str, address: str, at: datetime) -> Batch:
    """One that fails spoils no other."""
    all_of_them = list(choices)
    theirs = Delivery.objects.for_person(by).defer(*NOT_SHOWN)
    found = theirs.in_bulk([choice.pk for choice in all_of_them])
    read = [choice.pk for choice in all_of_them if choice.is_read and choice.pk in found]
    mark_many_read(read, by=by, at=at)
    results = []
    for choice in filter(attrgetter("status"), all_of_them):
        delivery = found.get(choice.pk)
        outcome = _send(delivery, choice, by, note, address) if delivery else GONE
        results.append((choice.pk, choice.status, outcome))
    is_sent = all(outcome == SENT for _, _, outcome in results)
    return Batch(uuid4(), "" if is_sent else note, results)


def take_all_back(batch: Batch, *, by: User, address: str) -> None:
    """Those that have not left yet; what has left stays as it is, and the page says so."""
    theirs = Delivery.objects.for_person(by).defer(*NOT_SHOWN)
    for delivery in theirs.in_bulk(batch.ids(sent=True)).values():
        try:
            take_back(delivery, by=by, address=address)
        except (PickedUp, NotAllowed, Response.DoesNotExist):
            continue
        except DatabaseError:
            log.exception("The answer to %s cannot be taken back", delivery.pk)


def lines(batch: Batch, viewer: Viewer, *, at: datetime) -> list[Line]:
    """How each of them is now; one query."""
    theirs = Delivery.objects.for_person(viewer.user).select_related("response")
    found = theirs.defer(*NOT_SHOWN).in_bulk([pk for pk, _, _ in batch.results])
    return [
        _line(found.get(pk), status, outcome, viewer, at) for pk, status, outcome in batch.results
    ]


def _note(kept: str) -> str:
    """Sessions are not rotated: once the old key is gone, the rest of the page is still there."""
    try:
        return opened(kept) or ""
    except Unreadable as error:
        return str(error)


def _send(delivery: Delivery, choice: Choice, by: User, note: str, address: str) -> str:
    try:
        respond(
            delivery,
            by=by,
            status=choice.status,
            content_hash=choice.content_hash,
            feedback=note,
            address=address,
        )
    except AlreadyAnswered:
        return FIRST
    except Withdrawn:
        return WITHDRAWN
    except ContentChanged:
        return CHANGED
    except NotAllowed:
        return GONE
    except DatabaseError:
        log.exception("The answer to %s cannot be stored", delivery.pk)
        return FAILED
    return SENT


def _line(
    delivery: Delivery | None, status: str, outcome: str, viewer: Viewer, at: datetime
) -> Line:
    response: Response | None = getattr(delivery, "response", None)
    if delivery is None:
        return Line(None, status, GONE, None, TOLD[GONE])
    if outcome == SENT and response is None:
        return Line(delivery, status, outcome, None, "It waits in the inbox again.")
    if response is not None and response.by_id != viewer.user.pk:
        outcome = FIRST
    told = fate(response, viewer, at=at) if response is not None else None
    return Line(delivery, status, outcome, told, TOLD.get(outcome, ""))
