"""Finds the previous and the next delivery in a person's inbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponseRedirect, QueryDict

from accounts.access.viewer import Viewer
from accounts.models import User
from database.batched_queries import PAGE, Cursor, first_of_each, older_than
from inbox.reading.lists import TEAM, TYPE, Lists, each_type
from inbox.reading.order import TITLES, URGENCY
from inbox.reading.snoozes import without_snoozed
from inbox.search.filter_state import FilterState
from pages.redirects import SeeOther
from wake.assignment.assigned import with_is_mine
from wake.models import Delivery, DeliveryQuerySet

ORDER = list(TITLES)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Links the previous and the next delivery. `position` is `2 of 4`. `position` is empty if too
    many deliveries wait to count them."""

    previous: Delivery | None
    next: Delivery | None
    position: str


def neighbours(
    delivery: Delivery, viewer: Viewer, *, is_mine: bool = False, at: datetime
) -> Neighbours | None:
    """Returns the neighbours in the order of the inbox, or None for a delivery that does not wait.
    Makes one query, which reads at most a page of each list. Index: waiting_of_a_team."""
    if delivery.answered_at or delivery.superseded_at or delivery.acknowledged_at:
        return None
    nearest = first_of_each(_lists(delivery, viewer, at))
    around = sorted((row for row in nearest if row.pk != delivery.pk), key=_sort_key)
    here = _sort_key(delivery, is_mine=is_mine)
    before = [row for row in around if _sort_key(row) < here]
    after = around[len(before) :]
    return Neighbours(
        previous=before[-1] if before else None,
        next=after[0] if after else None,
        position=f"{len(before) + 1} of {len(around) + 1}" if len(around) < PAGE else "",
    )


def next_to_open(
    pk: UUID | None, data: QueryDict, filters: FilterState, user: User, *, at: datetime
) -> Delivery | None:
    """Returns the delivery that opens after `pk` is answered, if the form asks for one. Returns
    None to show the list. Call this function before the answer is stored, because the answer takes
    the delivery out of the list."""
    if pk is None or data.get("then") != "next":
        return None
    viewer = Viewer.of(user)
    rows = Delivery.objects.for_person(user).filter(pk=pk)
    delivery = (with_is_mine(rows, user.pk) if viewer.ruled_team_ids else rows).first()
    if delivery is None:
        return None
    around = neighbours(delivery, viewer.within(filters.team) or viewer, at=at)
    return (around.next or around.previous) if around else None


def after_answer(
    pk: UUID, following: Delivery | None, filters: FilterState
) -> HttpResponseRedirect:
    """Redirects to the following delivery, or to the list. Either page shows the answer that was
    given to `pk`."""
    back = filters.deselect({pk})
    if following is not None:
        query = urlencode({**({"back": str(back)} if str(back) else {}), "answered": pk})
        return SeeOther("delivery", pk=following.pk, query=query)
    return SeeOther("inbox", query=f"{back}{'&' if str(back) else ''}answered={pk}")


def _lists(delivery: Delivery, viewer: Viewer, at: datetime) -> Lists:
    """Returns the lists of each team. The lists of the delivery's own type begin at the
    delivery."""
    here = Cursor((delivery.created_at, delivery.pk))
    waiting = Delivery.objects.awaiting_response().filter(mode=delivery.mode, type=TYPE)
    rows = without_snoozed(waiting.for_team(TEAM), viewer.user, at=at)
    rows = rows.only("type", "priority", "created_at")
    if viewer.ruled_team_ids:
        rows = with_is_mine(rows, viewer.user.pk)
    others = [type for type in ORDER if type != delivery.type]
    return [
        *each_type(_newer_than(rows, here), [delivery.type], viewer.team_ids),
        *each_type(older_than(rows, "created_at", here), [delivery.type], viewer.team_ids),
        *each_type(older_than(rows, "created_at", None), others, viewer.team_ids),
    ]


def _newer_than(rows: DeliveryQuerySet, here: Cursor) -> DeliveryQuerySet:
    """Returns the newer deliveries, nearest first."""
    at, pk = here
    rows = rows.filter(created_at__gte=at).exclude(Q(created_at=at, pk__lte=pk))
    return rows.order_by("created_at", "pk")


def _sort_key(row: Delivery, *, is_mine: bool = False) -> tuple[int, bool, int, float, int]:
    is_mine = is_mine or bool(getattr(row, "is_mine", False))
    at = row.created_at.timestamp()
    return ORDER.index(row.type), not is_mine, URGENCY[row.priority], -at, -row.pk.int
