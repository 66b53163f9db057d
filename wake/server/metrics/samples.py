"""Keeps figures of the last 24 hours, a row for every five minutes, for the page Settings,
Server."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet

from wake.models import ServerSample
from wake.server.metrics import figures, queues

INTERVAL = timedelta(minutes=5)
KEPT = timedelta(hours=24)


def keep(*, at: datetime) -> None:
    """Stores the figures of these five minutes if no row has them yet, and removes old rows. The
    job runs more often than this, so that a restart of beat leaves no gap."""
    slot = beginning(at)
    if ServerSample.objects.filter(at=slot).exists():
        return
    ServerSample.objects.filter(at__lte=slot - KEPT).delete()
    # Two workers may store the same five minutes at the same time.
    ServerSample.objects.bulk_create([_read(slot, at)], ignore_conflicts=True)


def last_24_hours(at: datetime) -> QuerySet[ServerSample]:
    """Selects at most 288 rows, oldest first."""
    return ServerSample.objects.filter(at__gt=beginning(at) - KEPT, at__lte=at).order_by("at")


def beginning(at: datetime) -> datetime:
    """Returns the beginning of the five minutes. Each hour begins with such a five minutes."""
    return at.replace(second=0, microsecond=0) - timedelta(minutes=at.minute % 5)


def _read(slot: datetime, at: datetime) -> ServerSample:
    callbacks = {state: int(number) for (state,), number in figures.callbacks(at).items()}
    suspended = callbacks.pop("suspended")
    return ServerSample(
        at=slot,
        deliveries=sum(figures.deliveries(at).values()),
        responses=sum(figures.responses(at).values()),
        pending_deliveries=sum(figures.pending_deliveries(at).values()),
        waiting_callbacks=sum(callbacks.values()),
        suspended_callbacks=suspended,
        seconds_overdue=max(queues.seconds_overdue(at).values()),
    )
