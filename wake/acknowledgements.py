"""A person says "Got it" to what needs no answer: it leaves the inbox, and no agent hears of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.audit import person, record_many
from accounts.models import User
from wake.models import Delivery


@transaction.atomic
def acknowledge(
    ids: Iterable[UUID], *, by: User, address: str = "", at: datetime | None = None
) -> list[Delivery]:
    """Takes updates, alerts and whatever's window has passed out of the inbox of the whole team;
    returns those that it took. What somebody must still answer stays where it is."""
    at = at or timezone.now()
    waiting = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=ids).awaiting_response()
    rows = [row for row in waiting.select_for_update(of=("self",)) if row.needs_no_answer(at)]
    _mark(rows, at=at, by_name=by.display_name)
    record_many("delivery.acknowledged", by=person(by, address), of=rows, at=at)
    return rows


@transaction.atomic
def bring_back(
    ids: Iterable[UUID], *, by: User, address: str = "", at: datetime | None = None
) -> list[Delivery]:
    """Undoes acknowledge(); returns those that are in the inbox again."""
    taken = Delivery.objects.that_may_be_answered_by(by).filter(pk__in=ids).acknowledged()
    rows = list(taken.with_content().select_for_update(of=("self",)))
    _mark(rows, at=None, by_name="")
    record_many("delivery.brought_back", by=person(by, address), of=rows, at=at or timezone.now())
    return rows


def _mark(rows: list[Delivery], *, at: datetime | None, by_name: str) -> None:
    for row in rows:
        row.acknowledged_at = at
        row.acknowledged_by = by_name
    Delivery.objects.bulk_update(rows, ["acknowledged_at", "acknowledged_by"])
