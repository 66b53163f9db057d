"""Who has opened which delivery."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from accounts.models import User
from inbox.models import Reading
from wake.models import Delivery, DeliveryQuerySet


def mark_read(delivery: Delivery, *, by: User, at: datetime) -> None:
    """The first opening is kept. One statement, which writes nothing when there is one already."""
    mark_many_read([delivery.pk], by=by, at=at)


def mark_many_read(ids: Iterable[UUID], *, by: User, at: datetime) -> None:
    opened = [Reading(user=by, delivery_id=pk, opened_at=at) for pk in ids]
    Reading.objects.bulk_create(opened, ignore_conflicts=True)


def mark_unread(delivery: Delivery, *, by: User) -> None:
    Reading.objects.filter(user=by, delivery=delivery).delete()


def with_reading(rows: DeliveryQuerySet, user: User) -> DeliveryQuerySet:
    """`is_read` says whether this person has opened it."""
    mine = Reading.objects.filter(user=user, delivery=OuterRef("pk"))
    return rows.annotate(is_read=Exists(mine))
