"""Sends due checkpoints. The row is the queue; each destination gets its checkpoints in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from accounts.log.checkpoints import checkpoints
from accounts.models import CheckpointSending, LogCheckpoint
from database import sweeps
from database.clock import database_now
from inbox.notifications.checkpoints import git_remote, timestamps, webhook, witnesses
from inbox.notifications.checkpoints.requests import NeverArrives, NotSent

DRAIN_SECONDS = 20.0
# Longer than one sending may take (git_remote.SECONDS).
LEASE = sweeps.Lease("due_at", timedelta(minutes=2))
BACK_OFF = [timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180)]
FAILED_HERE = "Something went wrong on our side."
REMOVED = "This destination is no longer configured."
LONGEST_ERROR = 200
Kind = CheckpointSending.Kind
Place = tuple[str, str]  # the kind and the name of a destination


class Send(Protocol):
    def __call__(self, sending: CheckpointSending, *, at: datetime) -> str:
        """Returns what to store as the result. Raises NotSent."""


def configured() -> dict[Place, Send]:
    """Returns the destinations of the settings."""
    found: dict[Place, Send] = {}
    if settings.WAKE_CHECKPOINT_WEBHOOK:
        found[Kind.WEBHOOK, ""] = webhook.send
    if settings.WAKE_CHECKPOINT_GIT:
        found[Kind.GIT, ""] = git_remote.send
    if settings.WAKE_CHECKPOINT_TIMESTAMPS:
        found[Kind.TIMESTAMP, ""] = timestamps.send
    for witness in witnesses.configured():
        found[Kind.WITNESS, witness.key.name] = witness.send
    return found


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Stores what is to be sent, then sends due checkpoints for at most 20 seconds; returns how
    many arrived. A destination that fails waits, and the others go on."""
    places = configured()
    plan(places, at=clock())
    return sweeps.sweep_leased(
        due,
        partial(_send, places=places, clock=clock),
        lease=LEASE,
        what="checkpoints",
        clock=clock,
        postpone=lambda sending: _postpone(sending, FAILED_HERE, at=clock()),
        seconds=DRAIN_SECONDS,
    )


def plan(places: Mapping[Place, Send], *, at: datetime) -> None:
    """Stores a row for each new checkpoint and destination. A new destination begins with the
    newest checkpoint. Gives up the rows of destinations that were removed."""
    waiting = CheckpointSending.objects.filter(due_at__isnull=False)
    if removed := {row for row in waiting.values_list("kind", "name") if row not in places}:
        is_removed = Q()
        for kind, name in removed:
            is_removed |= Q(kind=kind, name=name)
        waiting.filter(is_removed).update(due_at=None, error=REMOVED)
    newest = checkpoints.newest()
    if newest is None or not places:
        return
    rows = CheckpointSending.objects.values_list("kind", "name").annotate(last=Max("checkpoint"))
    last = {(kind, name): size for kind, name, size in rows}
    before = {place: last.get(place, newest.size - 1) for place in places}
    new = list(LogCheckpoint.objects.filter(size__gt=min(before.values())).order_by("size"))
    CheckpointSending.objects.bulk_create(
        [
            CheckpointSending(checkpoint=checkpoint, kind=kind, name=name, due_at=at)
            for checkpoint in new
            for (kind, name), size in before.items()
            if checkpoint.size > size
        ],
        ignore_conflicts=True,
    )


def due(at: datetime) -> QuerySet[CheckpointSending]:
    """Returns the oldest waiting row of each destination, if it is due. Destinations that failed
    come last, because each attempt takes as long as its time-out. Index: due_checkpoints."""
    waiting = CheckpointSending.objects.filter(due_at__isnull=False)
    earlier = waiting.filter(
        kind=OuterRef("kind"), name=OuterRef("name"), checkpoint__lt=OuterRef("checkpoint")
    )
    rows = waiting.filter(~Exists(earlier), due_at__lte=at).order_by("attempts", "due_at", "pk")
    return rows.select_related("checkpoint")


def _send(
    sending: CheckpointSending, *, places: Mapping[Place, Send], clock: Callable[[], datetime]
) -> int:
    send = places.get((sending.kind, sending.name))
    if send is None:  # another worker with other settings planned the row
        _postpone(sending, REMOVED, at=clock())
        return 0
    try:
        result = send(sending, at=clock())
    except NotSent as reason:
        is_final = isinstance(reason, NeverArrives)
        _postpone(sending, str(reason), at=None if is_final else clock())
        return 0
    attempts = sending.attempts + 1
    _settle(sending, due_at=None, sent_at=clock(), attempts=attempts, error="", result=result)
    return 1


def _postpone(sending: CheckpointSending, error: str, *, at: datetime | None) -> None:
    """Tries again some time after `at`. If `at` is None, never tries again."""
    wait = BACK_OFF[min(sending.attempts, len(BACK_OFF) - 1)]
    _settle(
        sending,
        due_at=at and at + wait,
        attempts=sending.attempts + 1,
        error=error[:LONGEST_ERROR],
    )


def _settle(sending: CheckpointSending, **fields: Any) -> None:
    LEASE.held(sending).update(**fields)
