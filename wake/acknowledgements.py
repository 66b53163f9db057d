"""Takes deliveries that need no answer out of the inbox when a person says "Got it". The agent is
not told."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.audit import person, record_many
from accounts.models import User
from wake.models import Delivery, DeliveryQuerySet
from wake.signals import notify_inbox


@transaction.atomic
def acknowledge(
    ids: Iterable[UUID], *, by: User, address: str = "", at: datetime
) -> list[Delivery]:
    """Takes updates, alerts and expired deliveries out of the whole team's inbox; returns those
    that it took. Deliveries that still need an answer stay."""
    waiting = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=ids).awaiting_response()
    rows = [row for row in _locked(waiting) if row.needs_no_answer(at)]
    _mark(rows, at=at, by_name=by.display_name)
    record_many("delivery.acknowledged", by=person(by, address), of=rows, at=at)
    notify_inbox(rows)
    return rows


@transaction.atomic
def bring_back(ids: Iterable[UUID], *, by: User, address: str = "", at: datetime) -> list[Delivery]:
    """Undoes acknowledge(); returns the deliveries that are in the inbox again."""
    taken = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=ids).acknowledged()
    rows = list(_locked(taken.with_content()))
    _mark(rows, at=None, by_name="")
    record_many("delivery.brought_back", by=person(by, address), of=rows, at=at)
    notify_inbox(rows)
    return rows


def _locked(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Locks the rows by primary key, so that two people with overlapping rows cannot deadlock."""
    return rows.order_by("pk").select_for_update(of=("self",))


def _mark(rows: list[Delivery], *, at: datetime | None, by_name: str) -> None:
    for row in rows:
        row.acknowledged_at = at
        row.acknowledged_by = by_name
    Delivery.objects.bulk_update(rows, ["acknowledged_at", "acknowledged_by"])
