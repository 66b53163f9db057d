"""Sends several answers together, each in its own transaction, and takes them back together."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Self
from uuid import UUID, uuid4

from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError

from accounts.access.objects import NotAllowed
from accounts.access.viewer import Viewer
from accounts.models import User
from accounts.sign_in.browsers.sessions import Authentication
from database.clock import database_now
from database.encrypted_columns import as_stored, opened
from database.encryption import Unreadable
from inbox.answering.answer_status import AnswerStatus, answer_status
from inbox.answering.batches.review import ReviewChoice, is_undecided
from inbox.reading.in_sight import first_opened
from inbox.reading.readings import mark_many_read
from inbox.reading.rows import UNUSED_COLUMNS
from inbox.reading.status_words import STATUS_LABELS
from wake.assignment.taking import NotAssigned
from wake.models import Delivery, Place, Response, Sight, Vote
from wake.responses import AlreadyAnswered, ContentChanged, NeedsPasskey, Withdrawn, respond
from wake.undo import PickedUp, take_back

log = logging.getLogger(__name__)

KEY = "batches"
MAX_BATCHES = 3

SENT, ANSWERED_FIRST, CHANGED, GONE, FAILED = "sent", "first", "changed", "gone", "failed"
WITHDRAWN, NOT_ASSIGNED, VOTED = "withdrawn", "others", "voted"
UNDECIDED, NOT_HERE, PASSKEY = "undecided", "page", "passkey"
ACCEPTED = {SENT, VOTED}
# The result of an answer that was accepted and later taken back. The session does not store this
# result.
UNDONE = "undone"
MESSAGES = {
    VOTED: "You approved it. Others still have to. You can undo this on its page.",
    UNDONE: "It is back in the inbox.",
    CHANGED: "It changed after you read it. Read it again, then answer.",
    WITHDRAWN: str(Withdrawn.__doc__),
    NOT_ASSIGNED: str(NotAssigned.__doc__),
    UNDECIDED: "It asks you to choose. Answer it on its page.",
    NOT_HERE: "There is more to it than could be shown together. Answer it on its page.",
    PASSKEY: "It needs your passkey. Answer it on its page.",
    GONE: "You can no longer answer it.",
    FAILED: "Something went wrong on our side. This answer wasn't sent.",
}


@dataclass(frozen=True, slots=True)
class AnswerBatch:
    """Holds the result of each choice as the session stores it: id, answer, outcome.

    `note` is stored only if some answer was not sent. Sent notes are in the responses, where
    retention erases them.
    """

    id: UUID
    note: str
    results: list[tuple[UUID, str, str]]

    @classmethod
    def load(cls, session: SessionBase, pk: UUID) -> Self | None:
        for stored in session.get(KEY, []):
            if stored["id"] == str(pk):
                results = [(UUID(id), status, outcome) for id, status, outcome in stored["results"]]
                return cls(pk, _note(stored["note"]), results)
        return None

    def store(self, session: SessionBase) -> None:
        stored: dict[str, Any] = {"id": str(self.id), "note": as_stored(self.note)}
        stored["results"] = [(str(pk), status, outcome) for pk, status, outcome in self.results]
        session[KEY] = [stored, *session.get(KEY, [])][:MAX_BATCHES]

    def ids(self, *, sent: bool) -> list[UUID]:
        return [pk for pk, _, outcome in self.results if (outcome in ACCEPTED) is sent]


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """Shows one answer of the batch in its present state. `answer_status` is about the answer that
    counts. `is_own` is True if this person gave that answer, and not only a vote for it."""

    delivery: Delivery | None
    status: str
    outcome: str
    answer_status: AnswerStatus | None
    is_own: bool = False

    @property
    def message(self) -> str:
        return MESSAGES.get(self.outcome, "")

    @property
    def title(self) -> str:
        return STATUS_LABELS[self.status]

    @property
    def is_taken_back(self) -> bool:
        return self.outcome == UNDONE

    @property
    def is_vote(self) -> bool:
        return self.outcome == VOTED

    @property
    def is_sent(self) -> bool:
        return self.outcome == SENT

    @property
    def can_be_undone(self) -> bool:
        """Returns whether take_all_back() would undo this answer."""
        status = self.answer_status
        return self.is_sent and self.is_own and status is not None and status.can_be_undone


def send(
    choices: Iterable[ReviewChoice],
    *,
    by: User,
    note: str,
    not_here: Collection[UUID] = (),
    signed_in: Authentication,
    address: str,
    at: datetime,
) -> AnswerBatch:
    """Sends each answer. If one answer fails, the others are still sent. `not_here` are deliveries
    that the page did not show whole, and that are answered on their own pages."""
    all_choices = list(choices)
    own_deliveries = Delivery.objects.for_person(by).select_related("team").defer(*UNUSED_COLUMNS)
    deliveries = own_deliveries.in_bulk([choice.pk for choice in all_choices])
    read = [choice.pk for choice in all_choices if choice.is_read and choice.pk in deliveries]
    opened_at = first_opened(deliveries, by=by)  # before mark_many_read() stores new openings
    mark_many_read(read, by=by, at=at)
    results = []
    for choice in filter(attrgetter("status"), all_choices):
        delivery = deliveries.get(choice.pk)
        if delivery is None:
            outcome = GONE
        elif choice.pk in not_here:
            outcome = _reason(delivery)
        else:
            sight = Sight(Place.BULK, (), opened_at=opened_at.get(choice.pk))
            outcome = _send(delivery, choice, by, note, sight, signed_in, address)
        results.append((choice.pk, choice.status, outcome))
    is_sent = all(outcome in ACCEPTED for _, _, outcome in results)
    return AnswerBatch(uuid4(), "" if is_sent else note, results)


def take_all_back(batch: AnswerBatch, *, by: User, address: str) -> None:
    """Takes back this person's answers that the agent does not have yet. The page explains why the
    other answers stay. A colleague's later answer also stays."""
    own_deliveries = Delivery.objects.for_person(by).filter(response__by=by).defer(*UNUSED_COLUMNS)
    for delivery in own_deliveries.in_bulk(batch.ids(sent=True)).values():
        try:
            take_back(delivery, by=by, place=Place.BULK, address=address, at=database_now())
        except (PickedUp, NotAllowed, Response.DoesNotExist):
            continue
        except DatabaseError:
            log.exception("The answer to %s cannot be taken back", delivery.pk)


def lines(batch: AnswerBatch, viewer: Viewer, *, at: datetime) -> list[AnswerLine]:
    """Returns the current status of each answer. Makes one query, or two if a delivery needs
    several approvals."""
    own_deliveries = Delivery.objects.for_person(viewer.user).select_related("response__callback")
    unused = (*UNUSED_COLUMNS, "response__callback__body", "response__callback__headers_ciphertext")
    deliveries = own_deliveries.defer(*unused).in_bulk([pk for pk, _, _ in batch.results])
    asked = [delivery.pk for delivery in deliveries.values() if delivery.quorum]
    votes: dict[UUID, Vote] = {}
    if asked:
        rows = Vote.objects.filter(user=viewer.user, delivery__in=asked).defer("feedback")
        votes = {vote.delivery_id: vote for vote in rows}
    return [
        _line(deliveries.get(pk), status, outcome, votes.get(pk), viewer, at)
        for pk, status, outcome in batch.results
    ]


def _note(stored: str) -> str:
    """Decrypts the note. Sessions are not re-encrypted. So if the encryption key is lost, returns
    the error instead, which the page then shows."""
    try:
        return opened(stored) or ""
    except Unreadable as error:
        return str(error)


def _reason(delivery: Delivery) -> str:
    """Returns why a delivery is answered on its own page."""
    if delivery.must_be_signed:
        return PASSKEY
    return UNDECIDED if is_undecided(delivery) else NOT_HERE


def _send(
    delivery: Delivery,
    choice: ReviewChoice,
    by: User,
    note: str,
    sight: Sight,
    signed_in: Authentication,
    address: str,
) -> str:
    try:
        given = respond(
            delivery,
            by=by,
            status=choice.status,
            content_hash=choice.content_hash,
            feedback=note,
            sight=sight,
            signed_in=signed_in,
            address=address,
            at=database_now(),
        )
    except AlreadyAnswered:
        return ANSWERED_FIRST
    except Withdrawn:
        return WITHDRAWN
    except ContentChanged:
        return CHANGED
    except NeedsPasskey:
        return PASSKEY
    except NotAssigned:
        return NOT_ASSIGNED
    except NotAllowed:
        return GONE
    except DatabaseError:
        log.exception("The answer to %s cannot be stored", delivery.pk)
        return FAILED
    return VOTED if isinstance(given, Vote) else SENT


def _line(
    delivery: Delivery | None,
    status: str,
    outcome: str,
    vote: Vote | None,
    viewer: Viewer,
    at: datetime,
) -> AnswerLine:
    if delivery is None:
        return AnswerLine(None, status, GONE, None)
    response: Response | None = getattr(delivery, "response", None)
    outcome = _outcome_now(outcome, response, vote, viewer)
    if response is None:
        return AnswerLine(delivery, status, outcome, None)
    return AnswerLine(
        delivery,
        response.status if outcome == SENT else status,
        outcome,
        answer_status(response, viewer, at=at),
        is_own=response.by_id == viewer.user.pk,
    )


def _outcome_now(outcome: str, response: Response | None, vote: Vote | None, viewer: Viewer) -> str:
    """Returns the result of an answer. Colleagues may have voted, or undone their votes. This
    person may have undone the answer and given another answer."""
    if response is None:
        if outcome not in ACCEPTED:
            return outcome
        return VOTED if vote else UNDONE
    if response.by_id != viewer.user.pk and not (vote and response.is_of_votes):
        return ANSWERED_FIRST
    return SENT if outcome in ACCEPTED else outcome
