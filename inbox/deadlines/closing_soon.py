"""What would go on without a person before they are back at work, on their own clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from operator import attrgetter

from django.utils import timezone

from accounts.models import ApiKey, User
from inbox.own_clock import instant, zone_of
from inbox.rows import Row, assumption_of, row_of, with_assumption
from inbox.slices import first_of_each
from inbox.viewer import Viewer
from wake.models import Delivery, DeliveryQuerySet

MORNING, NOON = time(9), time(12)
FRIDAY = 4
LISTED = 200


@dataclass(frozen=True, slots=True)
class Closing:
    """A window that closes while nobody looks, and what the agent says that it will do."""

    row: Row
    assumption: str


def back_at_work(user: User, *, at: datetime) -> datetime:
    """Tomorrow at nine; from Friday noon on and at the weekend, Monday at nine."""
    zone = zone_of(user)
    local = at.astimezone(zone)
    is_weekend = local.weekday() > FRIDAY or (local.weekday() == FRIDAY and local.time() >= NOON)
    days = 7 - local.weekday() if is_weekend else 1
    return instant(local.date() + timedelta(days=days), MORNING, zone)


def until_when(back: datetime, *, at: datetime) -> str:
    """`tomorrow 09:00` or `Monday 09:00`."""
    local = timezone.localtime(back)
    is_tomorrow = (local.date() - timezone.localtime(at).date()).days == 1
    day = "tomorrow" if is_tomorrow and local.weekday() else f"{local:%A}"
    return f"{day} {local:%H:%M}"


def closing_windows(
    team_ids: Iterable[int], *, after: datetime, until: datetime
) -> list[DeliveryQuerySet]:
    """One list a team: what a person can still answer; updates ask for nothing. What was put off
    is there, too. Index: windows_of_a_team."""
    return [
        Delivery.objects.for_team(team_id)
        .awaiting_response()
        .filter(lane=ApiKey.Lane.LIVE, expires_at__gt=after, expires_at__lte=until)
        .exclude(type=Delivery.Type.UPDATE)
        for team_id in team_ids
    ]


def closing(viewer: Viewer, *, at: datetime, until: datetime) -> list[Closing]:
    """The next one to close first, where this person may answer; one more than LISTED where there
    are more."""
    lists = closing_windows(viewer.answered_team_ids, after=at, until=until)
    soonest = [with_assumption(rows).order_by("expires_at", "pk") for rows in lists]
    found = sorted(first_of_each(soonest, LISTED + 1), key=attrgetter("expires_at", "pk"))
    return [
        Closing(row_of(delivery, viewer, at=at), assumption_of(delivery))
        for delivery in found[: LISTED + 1]
    ]
