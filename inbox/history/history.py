"""Lists what ended, newest first: answered, acknowledged, replaced, withdrawn or expired."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, prefetch_related_objects

from database.batched_queries import Cursor
from inbox.answering.answer_status import pickup_status
from inbox.deadlines.wording import missed_text
from inbox.history.outcomes import Outcome
from inbox.list.rows import Row, listed, row_of
from inbox.pages.viewer import Viewer
from inbox.search.search import Search
from wake.models import Delivery, DeliveryQuerySet, Response


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One row of the history; `by` is empty if it ended without a person."""

    row: Row
    outcome: Outcome
    at: datetime
    by: str = ""
    note: str = ""


def page(
    search: Search, *, at: datetime, before: Cursor | None
) -> tuple[list[HistoryRow], Cursor | None]:
    """Returns one page and where the next begins; two queries."""
    deliveries, older = search.newest(lambda rows: listed(_ended(rows, at)), at=at, before=before)
    prefetch_related_objects(deliveries, "response")
    return [_row(delivery, search.viewer, at) for delivery in deliveries], older


def _ended(rows: DeliveryQuerySet, at: datetime) -> DeliveryQuerySet:
    ended = Q(answered_at__isnull=False) | Q(acknowledged_at__isnull=False)
    return rows.filter(ended | Q(superseded_at__isnull=False) | Q(expires_at__lte=at))


def _row(delivery: Delivery, viewer: Viewer, at: datetime) -> HistoryRow:
    row = row_of(delivery, viewer, at=at)
    response: Response | None = getattr(delivery, "response", None)
    if response:
        outcome = Outcome(response.status)
        note = pickup_status(response, at=at)
        return HistoryRow(row, outcome, response.answered_at, response.by_name, note)
    if delivery.acknowledged_at:
        by = delivery.acknowledged_by
        return HistoryRow(row, Outcome.ACKNOWLEDGED, delivery.acknowledged_at, by)
    if delivery.withdrawn_at:
        return HistoryRow(row, Outcome.WITHDRAWN, delivery.withdrawn_at)
    if delivery.superseded_at:
        return HistoryRow(row, Outcome.SUPERSEDED, delivery.superseded_at)
    closed_at = delivery.expires_at or delivery.created_at
    return HistoryRow(row, Outcome.EXPIRED, closed_at, note=missed_text(delivery, at))
