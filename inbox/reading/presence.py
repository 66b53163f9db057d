"""Shows who is reading a delivery now. This is a notice for colleagues, never a lock."""

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

PRESENCE_LASTS = timedelta(minutes=10)
# An open page polls for changes up to twice a minute, but renews its presence only this often.
RENEWED_EVERY = timedelta(minutes=2)


def begin(delivery: Delivery, viewer: Viewer, *, at: datetime) -> None:
    """Records that the viewer reads the delivery. Records nothing if the viewer may not answer the
    delivery, if the delivery was answered, or if the team never had a rule."""
    if _is_shown(delivery) and viewer.may_answer(delivery.team_id):
        _write(Reading.objects.filter(user=viewer.user, delivery=delivery), at=at)


def renew(delivery: Delivery, *, by: User, at: datetime) -> None:
    """Extends the presence of a page that stays open. Does nothing after the person has marked the
    delivery as unread."""
    if _is_shown(delivery):
        rows = Reading.objects.filter(user=by, delivery=delivery, reading_until__isnull=False)
        _write(rows, at=at)


def readers(delivery: Delivery, *, besides: User, at: datetime) -> str:
    """Returns `Bo and Carla`, or an empty text if no one else reads the delivery."""
    if not _is_shown(delivery):
        return ""
    rows = _reading_now(Reading.objects.filter(delivery=delivery), besides=besides, at=at)
    return in_words(list(rows.values_list("user__display_name", flat=True)))


def readers_of(
    deliveries: Collection[Delivery], viewer: Viewer, *, at: datetime
) -> dict[UUID, str]:
    """Returns one other reader for each delivery that someone else reads. Makes one query, or none
    if no team of these deliveries ever had a rule."""
    ids = [row.pk for row in deliveries if viewer.has_rules(row.team_id)]
    if not ids:
        return {}
    rows = _reading_now(Reading.objects.filter(delivery__in=ids), besides=viewer.user, at=at)
    return dict(rows.reverse().values_list("delivery", "user__display_name"))


def _is_shown(delivery: Delivery) -> bool:
    return delivery.agent.rules_version > 0 and delivery.answered_at is None


def _reading_now(rows: QuerySet[Reading], *, besides: Any, at: Any) -> QuerySet[Reading]:
    reading = rows.filter(reading_until__gt=at).exclude(user=besides)
    return reading.order_by("user__display_name", "pk")


def _write(rows: QuerySet[Reading], *, at: datetime) -> None:
    """Writes the new end of the presence, unless an end was written a moment ago. The page is shown
    even while the database cannot write."""
    is_due = Q(reading_until__isnull=True) | Q(
        reading_until__lt=at + PRESENCE_LASTS - RENEWED_EVERY
    )
    try:
        with transaction.atomic():
            rows.filter(is_due).update(reading_until=at + PRESENCE_LASTS)
    except DatabaseError as failure:
        log.warning("A presence cannot be written: %s", failure)
