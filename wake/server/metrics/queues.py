"""Finds since when the most overdue row of each queue is due. Apps above register their own
queues."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts.audit.key_ranges import KeyRange
from accounts.log import sweep
from accounts.models import AuditCheckpoint, CheckpointSending
from database.sweeps import to_work_on
from wake.models import Callback, Delivery, Response

# Returns since when the most overdue row is due at an instant, or None if no row is due.
FirstDue = Callable[[datetime], datetime | None]


def by(column: str, rows: Callable[[datetime], QuerySet[Any]]) -> FirstDue:
    """Returns the queue of the `rows` that are due at an instant, without those that wait for the
    move of their team. The column has an index, and says since when a row is due."""

    def first_due(at: datetime) -> datetime | None:
        due = to_work_on(rows(at)).order_by(column)
        first: datetime | None = due.values_list(column, flat=True).first()
        return first

    return first_due


def unchained_since(at: datetime) -> datetime | None:
    """Returns when the first event happened that is not in the log. The next sweep of the log looks
    for the same event."""
    checkpoint = AuditCheckpoint.objects.values_list("event_id", flat=True).first() or 0
    return sweep.without_entry(KeyRange(checkpoint)).values_list("at", flat=True).first()


callbacks = by("due_at", Callback.objects.due)
held_responses = by("release_at", Response.objects.due)
deadlines = by("expires_at", Delivery.objects.overdue)
escalations = by("escalates_at", Delivery.objects.due_to_escalate)
checkpoints = by("due_at", lambda at: CheckpointSending.objects.filter(due_at__lte=at))

QUEUES: dict[str, FirstDue] = {
    "callbacks": callbacks,
    "held_responses": held_responses,
    "deadlines": deadlines,
    "escalations": escalations,
    "log": unchained_since,
    "checkpoints": checkpoints,
}


def register(name: str, first_due: FirstDue) -> None:
    QUEUES[name] = first_due


def seconds_overdue(at: datetime) -> dict[tuple[str, ...], float]:
    """Returns for each queue how long its most overdue row has been due, and 0 if none is."""
    firsts = {name: first_due(at) for name, first_due in QUEUES.items()}
    return {
        (name,): max(0.0, (at - first).total_seconds()) if first else 0.0
        for name, first in firsts.items()
    }
