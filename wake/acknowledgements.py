"""When a person says "Got it", takes deliveries that need no answer out of the inbox, and also
failures after an approval. The agent is not notified."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from accounts.audit import person, record_many
from accounts.models import User
from wake.models import Delivery, DeliveryQuerySet, Failure
from wake.models.deliveries import UNANSWERED
from wake.signals import notify_inbox


@transaction.atomic
def acknowledge(
    ids: Iterable[UUID], *, by: User, address: str = "", at: datetime
) -> list[Delivery]:
    """Takes updates, alerts, expired deliveries and failures out of the whole team's inbox; returns
    their deliveries. Deliveries that still need an answer stay."""
    requested = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=ids).with_content()
    locked = list(_locked(requested.filter(UNANSWERED | Q(failure__isnull=False))))
    ended = [row for row in locked if row.answered_at is None and row.needs_no_answer(at)]
    _mark(ended, at=at, by_name=by.display_name)
    failed = _with_failure([row for row in locked if row.answered_at is not None], is_open=True)
    _mark_failures(failed, at=at, by_name=by.display_name)
    rows = ended + failed
    record_many("delivery.acknowledged", by=person(by, address), of=rows, at=at)
    notify_inbox(rows)
    return rows


@transaction.atomic
def bring_back(ids: Iterable[UUID], *, by: User, address: str = "", at: datetime) -> list[Delivery]:
    """Undoes acknowledge(); returns the deliveries that are in the inbox again."""
    requested = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=ids).with_content()
    taken = Q(acknowledged_at__isnull=False) | Q(failure__acknowledged_at__isnull=False)
    locked = list(_locked(requested.filter(taken)))
    failed = _with_failure([row for row in locked if row.answered_at is not None], is_open=False)
    _mark_failures(failed, at=None, by_name="")
    ended = [row for row in locked if row not in failed]
    _mark(ended, at=None, by_name="")
    rows = ended + failed
    record_many("delivery.brought_back", by=person(by, address), of=rows, at=at)
    notify_inbox(rows)
    return rows


def _locked(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Locks the rows by primary key, so that two people whose rows overlap cannot deadlock."""
    return rows.order_by("pk").select_for_update(of=("self",))


def _with_failure(locked: list[Delivery], *, is_open: bool) -> list[Delivery]:
    """Returns the deliveries with a failure that waits for a "Got it", or with a failure that a
    person acknowledged. Read after the lock, because another person may have been faster."""
    if not locked:
        return []
    failures = Failure.objects.filter(delivery__in=locked, acknowledged_at__isnull=is_open)
    found = set(failures.values_list("pk", flat=True))
    return [row for row in locked if row.pk in found]


def _mark_failures(rows: list[Delivery], *, at: datetime | None, by_name: str) -> None:
    if rows:
        failures = Failure.objects.filter(delivery__in=rows)
        failures.update(acknowledged_at=at, acknowledged_by=by_name)


def _mark(rows: list[Delivery], *, at: datetime | None, by_name: str) -> None:
    for row in rows:
        row.acknowledged_at = at
        row.acknowledged_by = by_name
    Delivery.objects.bulk_update(rows, ["acknowledged_at", "acknowledged_by"])
