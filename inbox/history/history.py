"""Lists what ended, newest first: answered, acknowledged, replaced, withdrawn or expired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Prefetch, Q, prefetch_related_objects

from database.batched_queries import Cursor
from inbox.answering.answer_status import pickup_status, with_callback
from inbox.answering.outcome_words import status_words
from inbox.deadlines.wording import missed_text
from inbox.history.outcomes import Outcome
from inbox.list.rows import Row, listed, row_of
from inbox.search.excerpts import excerpts_of
from inbox.search.search import Search
from pages.times import when
from wake.models import Delivery, DeliveryQuerySet, Response


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """Shows one row of the history; `at` is the time by which the list is sorted, and `by` is empty
    if it ended without a person."""

    row: Row
    outcome: Outcome
    at: datetime
    by: str = ""
    note: str = ""

    @property
    def words(self) -> str:
        if self.outcome == Outcome.REDIRECTED:
            return status_words(self.row.delivery.type, self.outcome)
        return self.outcome.label


def page(
    search: Search, *, at: datetime, before: Cursor | None
) -> tuple[list[HistoryRow], Cursor | None]:
    """Returns one page and where the next begins; two queries, and one for excerpts."""
    deliveries, older = search.newest(lambda rows: listed(_ended(rows, at)), at=at, before=before)
    answers = Prefetch("response", with_callback(Response.objects.all()))
    prefetch_related_objects(deliveries, answers)
    excerpts = excerpts_of(deliveries, search.query)
    rows = [_row(delivery, search, at) for delivery in deliveries]
    return [replace(past, row=past.row.with_excerpt(excerpts)) for past in rows], older


def _ended(rows: DeliveryQuerySet, at: datetime) -> DeliveryQuerySet:
    ended = Q(answered_at__isnull=False) | Q(acknowledged_at__isnull=False)
    return rows.filter(ended | Q(superseded_at__isnull=False) | Q(expires_at__lte=at))


def _row(delivery: Delivery, search: Search, at: datetime) -> HistoryRow:
    row, listed_at = row_of(delivery, search.viewer, at=at), search.listed_at(delivery)
    response: Response | None = getattr(delivery, "response", None)
    if response:
        note = pickup_status(response, at=at)
        return HistoryRow(row, Outcome(response.status), listed_at, response.by_name, note)
    if closed_at := delivery.acknowledged_at:
        note, by = f"Closed {when(closed_at, now=at)}.", delivery.acknowledged_by
        return HistoryRow(row, Outcome.ACKNOWLEDGED, listed_at, by, note)
    if closed_at := delivery.withdrawn_at or delivery.superseded_at:
        outcome = Outcome.WITHDRAWN if delivery.withdrawn_at else Outcome.SUPERSEDED
        return HistoryRow(row, outcome, listed_at, note=f"Closed {when(closed_at, now=at)}.")
    return HistoryRow(row, Outcome.EXPIRED, listed_at, note=missed_text(delivery, at))
