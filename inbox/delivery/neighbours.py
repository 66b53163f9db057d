"""What stands before and after a delivery in a person's inbox, for reading one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from inbox.later import without_snoozed
from inbox.sections import TITLES
from inbox.slices import PAGE, Cursor, first_of_each, older_than
from inbox.viewer import Viewer
from wake.models import Delivery, DeliveryQuerySet

ORDER = list(TITLES)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """`place` is `2 of 4`; empty where more wait than are worth counting."""

    previous: Delivery | None
    next: Delivery | None
    place: str


def neighbours(delivery: Delivery, viewer: Viewer, *, at: datetime) -> Neighbours | None:
    """In the order of the inbox, in one query of a page at most for each list; None for what does
    not wait. Index: inbox_of_a_team."""
    if delivery.answered_at or delivery.superseded_at or delivery.acknowledged_at:
        return None
    found = first_of_each(list(_lists(delivery, viewer, at)))
    around = sorted((row for row in found if row.pk != delivery.pk), key=_place_of)
    before = [row for row in around if _place_of(row) < _place_of(delivery)]
    after = around[len(before) :]
    return Neighbours(
        previous=before[-1] if before else None,
        next=after[0] if after else None,
        place=f"{len(before) + 1} of {len(around) + 1}" if len(around) < PAGE else "",
    )


def _lists(delivery: Delivery, viewer: Viewer, at: datetime) -> Iterator[QuerySet[Delivery]]:
    here = Cursor((delivery.created_at, delivery.pk))
    waiting = Delivery.objects.awaiting_response().filter(lane=delivery.lane)
    for team_id in viewer.team_ids:
        mine = without_snoozed(waiting.for_team(team_id), viewer.user, at=at)
        for type in ORDER:
            rows = mine.filter(type=type).only("type", "created_at")
            if type == delivery.type:
                yield _newer_than(rows, here)
            yield older_than(rows, "created_at", here if type == delivery.type else None)


def _newer_than(rows: DeliveryQuerySet, here: Cursor) -> DeliveryQuerySet:
    """The nearest first."""
    at, pk = here
    rows = rows.filter(created_at__gte=at).exclude(Q(created_at=at, pk__lte=pk))
    return rows.order_by("created_at", "pk")


def _place_of(row: Delivery) -> tuple[int, float, int]:
    return ORDER.index(row.type), -row.created_at.timestamp(), -row.pk.int
