"""Closes the windows of deliveries that nobody answered in time."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction

from accounts.audit import SYSTEM, record_many
from wake import signals
from wake.models import Delivery

CLOSE_AT_ONCE = 500


@transaction.atomic
def time_out_overdue(*, at: datetime) -> int:
    """Stamps every open delivery whose deadline has come, each once, whoever else is sweeping;
    returns how many.

    Agents see the truth without it, because expiry is computed from `expires_at`; this writes it
    into the record.
    """
    overdue = Delivery.objects.overdue(at).defer("details_json").order_by("expires_at")
    skip = connection.features.has_select_for_update_skip_locked
    rows = list(overdue.select_for_update(skip_locked=skip)[:CLOSE_AT_ONCE])
    for delivery in rows:
        delivery.timed_out_at = at
    Delivery.objects.bulk_update(rows, ["timed_out_at"])
    record_many("delivery.timed_out", by=SYSTEM, of=rows, at=at)
    for delivery in rows:
        signals.timed_out.send(sender=Delivery, delivery=delivery)
    return len(rows)
