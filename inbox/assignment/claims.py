"""Says who is reading a delivery now: a notice for colleagues, never a lock."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet

from accounts.access.viewer import Viewer
from accounts.models import User
from inbox.models import Reading
from wake.assignment.assigned import in_words
from wake.models import Delivery

log = logging.getLogger(__name__)

CLAIM_LASTS = timedelta(minutes=10)
# An open page asks for changes up to twice a minute, and renews its claim no more often than this.
RENEWED_EVERY = timedelta(minutes=2)


def claim(delivery: Delivery, viewer: Viewer, *, at: datetime) -> None:
    """Notes that the viewer reads the delivery. Does nothing if they may not answer it, if it was
    answered, or if its team never had a rule."""
    if _is_claimable(delivery) and viewer.may_answer(delivery.team_id):
        _write(Reading.objects.filter(user=viewer.user, delivery=delivery), at=at)


def renew(delivery: Delivery, *, by: User, at: datetime) -> None:
    """Extends the claim of a page that stays open. A claim that ended because the person marked the
    delivery as unread stays ended."""
    if _is_claimable(delivery):
        rows = Reading.objects.filter(user=by, delivery=delivery, reading_until__isnull=False)
        _write(rows, at=at)


def readers(delivery: Delivery, *, besides: User, at: datetime) -> str:
    """Returns `Bo and Carla`; empty if no one else reads it."""
    if not _is_claimable(delivery):
        return ""
    rows = _reading_now(Reading.objects.filter(delivery=delivery), besides=besides, at=at)
    return in_words(list(rows.values_list("user__display_name", flat=True)))


def readers_of(
    deliveries: Collection[Delivery], viewer: Viewer, *, at: datetime
) -> dict[UUID, str]:
    """Returns one other person who reads it, for each delivery that someone else reads. Makes one
    query, or none if no team of these deliveries ever had a rule."""
    ids = [row.pk for row in deliveries if viewer.has_rules(row.team_id)]
    if not ids:
        return {}
    rows = _reading_now(Reading.objects.filter(delivery__in=ids), besides=viewer.user, at=at)
    return dict(rows.reverse().values_list("delivery", "user__display_name"))


def _is_claimable(delivery: Delivery) -> bool:
    return delivery.agent.rules_version > 0 and delivery.answered_at is None


def _reading_now(rows: QuerySet[Reading], *, besides: Any, at: Any) -> QuerySet[Reading]:
    reading = rows.filter(reading_until__gt=at).exclude(user=besides)
    return reading.order_by("user__display_name", "pk")


def _write(rows: QuerySet[Reading], *, at: datetime) -> None:
    """Writes the new end unless it was written a moment ago. The page is shown even while the
    database cannot write."""
    is_due = Q(reading_until__isnull=True) | Q(reading_until__lt=at + CLAIM_LASTS - RENEWED_EVERY)
    try:
        with transaction.atomic():
            rows.filter(is_due).update(reading_until=at + CLAIM_LASTS)
    except DatabaseError as failure:
        log.warning("A claim cannot be written: %s", failure)
