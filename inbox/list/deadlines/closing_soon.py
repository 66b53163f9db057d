"""Lists the deadlines that close before a person is back at work, in their time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from operator import attrgetter
from typing import Any

from django.utils import timezone

from accounts.access.viewer import Viewer
from accounts.models import ApiKey, User
from database.batched_queries import first_of_each
from inbox.reading.lists import TEAM, each_team
from inbox.reading.rows import DeliveryRow, assumptions_of, row_of, with_assumption
from pages.local_time import instant, zone_of
from wake.models import Delivery, DeliveryQuerySet

MORNING, NOON = time(9), time(12)
FRIDAY = 4
MAX_LISTED = 200


@dataclass(frozen=True, slots=True)
class ClosingSoon:
    """Shows a delivery whose deadline is close, and the assumption of its agent."""

    row: DeliveryRow
    assumption: str


def back_at_work(user: User, *, at: datetime) -> datetime:
    """Returns tomorrow at nine. From Friday noon until Sunday, returns Monday at nine."""
    zone = zone_of(user)
    local = at.astimezone(zone)
    is_weekend = local.weekday() > FRIDAY or (local.weekday() == FRIDAY and local.time() >= NOON)
    days = 7 - local.weekday() if is_weekend else 1
    return instant(local.date() + timedelta(days=days), MORNING, zone)


def until_when(back: datetime, *, at: datetime) -> str:
    """Returns `tomorrow 09:00` or `Monday 09:00`."""
    local = timezone.localtime(back)
    is_tomorrow = (local.date() - timezone.localtime(at).date()).days == 1
    day = "tomorrow" if is_tomorrow and local.weekday() else f"{local:%A}"
    return f"{day} {local:%H:%M}"


def open_deadlines(team: Any, *, after: datetime, until: datetime) -> DeliveryQuerySet:
    """Returns the deliveries that a person can still answer in one team, including snoozed ones but
    no updates. `team` may be a parameter (inbox/reading/lists.py). Index: windows_of_a_team."""
    rows = Delivery.objects.for_team(team).awaiting_response()
    closing = rows.filter(mode=ApiKey.Mode.LIVE, expires_at__gt=after, expires_at__lte=until)
    return closing.exclude(type=Delivery.Type.UPDATE)


def closing_soon(viewer: Viewer, *, at: datetime, until: datetime) -> list[ClosingSoon]:
    """Returns the rows that this person may answer, earliest deadline first; one more than
    MAX_LISTED if there are more."""
    soonest = with_assumption(open_deadlines(TEAM, after=at, until=until)).order_by(
        "expires_at", "pk"
    )
    lists = each_team(soonest, viewer.answered_team_ids)
    deliveries = sorted(first_of_each(lists, MAX_LISTED + 1), key=attrgetter("expires_at", "pk"))
    listed = deliveries[: MAX_LISTED + 1]
    assumptions = assumptions_of(listed, viewer)
    return [
        ClosingSoon(row_of(delivery, viewer, at=at), assumptions[delivery.pk])
        for delivery in listed
    ]
