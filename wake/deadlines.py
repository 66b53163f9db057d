"""Times out deliveries whose deadline has passed without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from accounts.audit import SYSTEM, record_many
from database.sweeps import sweep_together
from wake.models import Delivery

CLOSE_AT_ONCE = 500


def time_out_overdue(*, at: datetime, at_once: int = CLOSE_AT_ONCE) -> int:
    """Stamps every open delivery whose deadline has come, and returns how many. Each is stamped
    once, even if several workers sweep.

    Agents see the expiry without this job, because it is computed from `expires_at`. The job writes
    it into the audit.
    """
    overdue = Delivery.objects.overdue(at).defer("details_json").order_by("expires_at")
    time_out = partial(_time_out, at=at)
    return sweep_together(overdue, time_out, what="overdue deliveries", at_once=at_once)


def _time_out(rows: Sequence[Delivery], *, at: datetime) -> int:
    for delivery in rows:
        delivery.timed_out_at = at
    Delivery.objects.bulk_update(rows, ["timed_out_at"])
    record_many("delivery.timed_out", by=SYSTEM, of=rows, at=at)
    return len(rows)
