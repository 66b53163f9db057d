"""Stores which person has opened which delivery."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef

from accounts.models import User
from inbox.models import Reading
from wake.models import Delivery, DeliveryQuerySet

log = logging.getLogger(__name__)


def mark_read(delivery: Delivery, *, by: User, at: datetime) -> None:
    """Stores the first time that this person opened the delivery."""
    mark_many_read([delivery.pk], by=by, at=at)


def mark_read_if_possible(delivery: Delivery, *, by: User, at: datetime) -> None:
    """Marks the delivery as read, for a page that must be shown even while the database cannot
    write (a full disk)."""
    try:
        with transaction.atomic():
            mark_read(delivery, by=by, at=at)
    except DatabaseError as failure:
        log.warning("%s cannot be marked as read: %s", delivery.pk, failure)


def mark_many_read(ids: Iterable[UUID], *, by: User, at: datetime) -> None:
    """Stores the first openings in one statement. The time of an earlier opening stays. The rows
    are in the order of their ids, so that two pages of a person cannot deadlock."""
    opened = [Reading(user=by, delivery_id=pk, opened_at=at) for pk in sorted(ids)]
    Reading.objects.bulk_create(
        opened,
        update_conflicts=True,
        unique_fields=["user", "delivery"],
        update_fields=["marked_unread_at"],
    )


def mark_unread(delivery: Delivery, *, by: User, at: datetime) -> None:
    """Marks the delivery as unread. The time at which the person opened the delivery stays."""
    own = Reading.objects.filter(user=by, delivery=delivery)
    own.update(marked_unread_at=at, reading_until=None)


def with_reading(rows: DeliveryQuerySet, user: User) -> DeliveryQuerySet:
    """Adds `is_read`: whether this person has opened the delivery, and has not marked it as unread
    since."""
    own_readings = Reading.objects.read().filter(user=user, delivery=OuterRef("pk"))
    return rows.annotate(is_read=Exists(own_readings))
