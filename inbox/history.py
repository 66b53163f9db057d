"""Everything that ended, newest first: with an answer, a "Got it", a newer one in its place, or a
window that passed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, prefetch_related_objects

from inbox.fates import whereabouts
from inbox.outcomes import Outcome
from inbox.rows import Row, listed, row_of
from inbox.search import Search
from inbox.slices import Cursor
from inbox.viewer import Viewer
from inbox.windows import passed
from wake.models import Delivery, DeliveryQuerySet, Response


@dataclass(frozen=True, slots=True)
class Past:
    """A line of the history. `by` is empty where nobody did anything."""

    row: Row
    outcome: Outcome
    at: datetime
    by: str = ""
    whereabouts: str = ""


def page(
    search: Search, *, at: datetime, before: Cursor | None
) -> tuple[list[Past], Cursor | None]:
    """One page and where the next begins; two queries."""
    found, older = search.newest(lambda rows: listed(_past(rows, at)), at=at, before=before)
    prefetch_related_objects(found, "response")
    return [_line(delivery, search.viewer, at) for delivery in found], older


def _past(rows: DeliveryQuerySet, at: datetime) -> DeliveryQuerySet:
    ended = Q(answered_at__isnull=False) | Q(acknowledged_at__isnull=False)
    return rows.filter(ended | Q(superseded_at__isnull=False) | Q(expires_at__lte=at))


def _line(delivery: Delivery, viewer: Viewer, at: datetime) -> Past:
    row = row_of(delivery, viewer, at=at)
    response: Response | None = getattr(delivery, "response", None)
    if response:
        outcome = Outcome(response.status)
        where = whereabouts(response, at=at)
        return Past(row, outcome, response.answered_at, response.by_name, where)
    if delivery.acknowledged_at:
        by = delivery.acknowledged_by
        return Past(row, Outcome.ACKNOWLEDGED, delivery.acknowledged_at, by)
    if delivery.withdrawn_at:
        return Past(row, Outcome.WITHDRAWN, delivery.withdrawn_at)
    if delivery.superseded_at:
        return Past(row, Outcome.SUPERSEDED, delivery.superseded_at)
    return Past(row, Outcome.EXPIRED, delivery.created_at, whereabouts=passed(delivery, at))
