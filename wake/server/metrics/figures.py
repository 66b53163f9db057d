"""Reads the figures that all processes share: how much waits, and for how long.

Each figure is one query with an index and a limit, so it costs the same at ten million deliveries.
A process reads each at most every few seconds, however often it is asked. Apps above register their
own figures.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

from django.db import Error, connection
from django.db.models import Count, Max, Q
from psycopg_pool import PoolTimeout

from accounts.audit.key_ranges import KeyRange
from accounts.log import sweep
from accounts.models import AuditCheckpoint, AuditEvent
from database.clock import database_now
from database.postgresql import replica
from wake.models import Callback, Delivery, EventCounts, FailingTarget
from wake.server.metrics import queues

log = logging.getLogger(__name__)

FRESH_SECONDS = 5.0
# A figure that counts rows counts no more than this. More are worth the same alert.
MAX_COUNT = 10_000

Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Figure:
    """Describes a figure. `read` gets the database's time, and returns the values by the values of
    `labels`, in that order."""

    name: str
    documentation: str
    read: Callable[[datetime], Values]
    labels: tuple[str, ...] = ()
    is_counter: bool = False


Figures = dict[Figure, Values]


def register(*figures: Figure) -> None:
    FIGURES.extend(figures)


def current() -> Figures:
    """Returns the figures as of the last seconds."""
    return _last.get(now=time.monotonic())


class Remembered:
    """Remembers the figures for a few seconds. If several threads ask, one reads, and the others
    wait for it."""

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._read = read
        self._figures: Figures = {}
        self._read_at = -inf
        self._lock = threading.Lock()

    def get(self, *, now: float) -> Figures:
        with self._lock:
            if now - self._read_at > FRESH_SECONDS:
                self._figures, self._read_at = self._read(), now
            return self._figures


def read_all(figures: Sequence[Figure] | None = None) -> Figures:
    """Reads the figures, and leaves out those that cannot be read now. Returns nothing while the
    database is away."""
    values: Figures = {}
    try:
        at = database_now()
        for figure in FIGURES if figures is None else figures:
            try:
                values[figure] = figure.read(at)
            except Error as error:
                log.warning("The figure %s cannot be read: %s", figure.name, error)
    except (Error, PoolTimeout) as error:
        log.warning("The database cannot be asked for figures: %s", error)
    finally:
        if not connection.in_atomic_block:
            connection.close()
    return values


def pending_deliveries(at: datetime) -> Values:
    """Counts in the order of the index waiting_of_a_team, and selects one of its columns, so that
    PostgreSQL reads nothing else."""
    rows = Delivery.objects.awaiting_response().order_by("team_id", "mode", "type", "-created_at")
    return {(): rows.values("team_id")[:MAX_COUNT].count()}


def callbacks(at: datetime) -> Values:
    """Counts the first callbacks of the queue, and those that a suspended target keeps out of it.
    Indexes: callbacks_due and callbacks_out_of_the_queue."""
    first = Callback.objects.unfinished().order_by("due_at")[:MAX_COUNT]
    is_sending, is_due = Q(leased_until__gt=at), Q(due_at__lte=at)
    queued = first.aggregate(
        sending=Count("pk", filter=is_sending),
        due=Count("pk", filter=is_due & ~is_sending),
        waiting=Count("pk", filter=~is_due & ~is_sending),
    )
    suspended = Callback.objects.out_of_the_queue().order_by("team_id", "host").values("team_id")
    states = {**queued, "suspended": suspended[:MAX_COUNT].count()}
    return {(state,): number for state, number in states.items()}


def suspended_targets(at: datetime) -> Values:
    return {
        (): FailingTarget.objects.suspended()
        .order_by("team_id")
        .values("team_id")[:MAX_COUNT]
        .count()
    }


def unchained_events(at: datetime) -> Values:
    """Counts, of the newest events, those that are not in the log."""
    checkpoint = AuditCheckpoint.objects.values_list("event_id", flat=True).first() or 0
    newest = AuditEvent.objects.aggregate(newest=Max("pk"))["newest"] or 0
    since = KeyRange(max(checkpoint, newest - MAX_COUNT))
    return {(): sweep.without_entry(since).count() if newest > checkpoint else 0}


def deliveries(at: datetime) -> Values:
    counts = EventCounts.objects.first()
    numbers = counts.deliveries if counts else {}
    return {(type,): numbers.get(type, 0) for type in Delivery.Type.values}


def responses(at: datetime) -> Values:
    counts = EventCounts.objects.first()
    return (
        {tuple(key.split()): number for key, number in counts.responses.items()} if counts else {}
    )


def replica_in_use(at: datetime) -> Values:
    if not replica.is_configured():
        return {}
    return {(): replica.status().state == replica.State.IN_USE}


def replica_lag(at: datetime) -> Values:
    lag = replica.status().lag if replica.is_configured() else None
    return {} if lag is None else {(): lag}


FIGURES = [
    Figure(
        "wake_deliveries_total",
        "Deliveries that agents sent, by type.",
        deliveries,
        labels=("type",),
        is_counter=True,
    ),
    Figure(
        "wake_responses_total",
        "Responses that agents picked up, by status, by the route on which they did, and by who"
        " decided.",
        responses,
        labels=("status", "route", "decided_by"),
        is_counter=True,
    ),
    Figure(
        "wake_pending_deliveries",
        "Deliveries in the inbox that wait for an answer.",
        pending_deliveries,
    ),
    Figure(
        "wake_queue_oldest_due_seconds",
        "How long the most overdue row of a queue has been due. 0 if no row is due.",
        queues.seconds_overdue,
        labels=("queue",),
    ),
    Figure(
        "wake_callbacks",
        "Callbacks that have not arrived, by state.",
        callbacks,
        labels=("state",),
    ),
    Figure(
        "wake_suspended_targets",
        "Hosts of a team that get no callbacks until a person resumes them.",
        suspended_targets,
    ),
    Figure(
        "wake_audit_unchained_events",
        "Events of the audit that are not in the log yet.",
        unchained_events,
    ),
    Figure(
        "wake_replica_in_use",
        "Whether pages about the past are read from the replica (1) or the primary (0).",
        replica_in_use,
    ),
    Figure(
        "wake_replica_lag_seconds",
        "How far the replica is behind, at most. Missing while it does not answer.",
        replica_lag,
    ),
]
_last = Remembered(read_all)
