"""Lists ended deliveries, newest first: answered, acknowledged, replaced, withdrawn or expired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Prefetch, Q, prefetch_related_objects

from database.batched_queries import Cursor
from inbox.answering.answer_status import pickup_status, with_callback
from inbox.answering.places import short_place
from inbox.answering.use import newest_outcomes
from inbox.history.steps import Step, steps_of
from inbox.reading.deadlines import missed_text
from inbox.reading.rows import DeliveryRow, listed, row_of
from inbox.reading.status_words import status_words
from inbox.search.excerpts import excerpts_of
from inbox.search.outcomes import OutcomeFilter
from inbox.search.search import Search
from pages.times import when
from wake.models import Delivery, DeliveryQuerySet, Outcome, Response


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """Shows one row of the history. The list is sorted by `at`. `by` is empty if no person ended
    the delivery."""

    row: DeliveryRow
    outcome: OutcomeFilter
    at: datetime
    by: str = ""
    note: str = ""
    place: str = ""  # where the delivery was answered without being opened
    # Oldest first. A row with steps shows neither `by` nor `note`.
    steps: Sequence[Step] = ()

    @property
    def words(self) -> str:
        if self.outcome == OutcomeFilter.REDIRECTED:
            return status_words(self.row.delivery.type, self.outcome)
        return self.outcome.label


def page(
    search: Search, *, at: datetime, before: Cursor | None
) -> tuple[list[HistoryRow], Cursor | None]:
    """Returns one page, and where the next page begins. Makes three queries, and a fourth one for
    the excerpts of a search."""
    deliveries, older = search.newest(lambda rows: listed(_ended(rows, at)), at=at, before=before)
    answers = Prefetch("response", with_callback(Response.objects.select_related("claim")))
    prefetch_related_objects(deliveries, answers)
    outcomes = newest_outcomes([delivery.pk for delivery in deliveries])
    excerpts = excerpts_of(deliveries, search.query)
    rows = [_row(delivery, search, outcomes, at=at) for delivery in deliveries]
    return [replace(past, row=past.row.with_excerpt(excerpts)) for past in rows], older


def _ended(rows: DeliveryQuerySet, at: datetime) -> DeliveryQuerySet:
    ended = Q(answered_at__isnull=False) | Q(acknowledged_at__isnull=False)
    return rows.filter(ended | Q(superseded_at__isnull=False) | Q(expires_at__lte=at))


def _row(
    delivery: Delivery, search: Search, outcomes: Mapping[UUID, Outcome], *, at: datetime
) -> HistoryRow:
    past = _ending(delivery, search, at=at)
    return replace(past, steps=steps_of(delivery, outcomes, search.viewer))


def _ending(delivery: Delivery, search: Search, *, at: datetime) -> HistoryRow:
    row, listed_at = row_of(delivery, search.viewer, at=at), search.listed_at(delivery)
    response: Response | None = getattr(delivery, "response", None)
    if response:
        note, place = pickup_status(response, at=at), short_place(response, search.viewer.user)
        return HistoryRow(
            row, OutcomeFilter(response.status), listed_at, response.by_name, note, place
        )
    if closed_at := delivery.acknowledged_at:
        note, by = f"Closed {when(closed_at, now=at)}.", delivery.acknowledged_by
        return HistoryRow(row, OutcomeFilter.ACKNOWLEDGED, listed_at, by, note)
    if closed_at := delivery.withdrawn_at or delivery.superseded_at:
        outcome = OutcomeFilter.WITHDRAWN if delivery.withdrawn_at else OutcomeFilter.SUPERSEDED
        return HistoryRow(row, outcome, listed_at, note=f"Closed {when(closed_at, now=at)}.")
    return HistoryRow(row, OutcomeFilter.EXPIRED, listed_at, note=missed_text(delivery, at))
