"""Withdraws deliveries that need no answer any more, because their task was cancelled or went
on."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.audit import SYSTEM, record_many
from wake.models import Delivery, DeliveryQuerySet


@transaction.atomic
def withdraw(deliveries: DeliveryQuerySet, *, at: datetime) -> list[Delivery]:
    """Takes the deliveries out of the inbox, unless they left it or their answer was released;
    returns those that it took. A held answer is not sent."""
    pending = deliveries.filter(status=Delivery.Status.PENDING, superseded_at__isnull=True)
    rows = list(pending.select_for_update(of=("self",)).defer("details_json").order_by("pk"))
    for row in rows:
        row.withdrawn_at = row.superseded_at = at
    Delivery.objects.bulk_update(rows, ["withdrawn_at", "superseded_at"])
    record_many("delivery.withdrawn", by=SYSTEM, of=rows, at=at)
    return rows
