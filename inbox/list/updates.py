"""Whether more has come since a page was made."""

from __future__ import annotations

from datetime import datetime, timedelta

from accounts.models import ApiKey
from inbox.slices import EPOCH, MICROSECOND, count_each
from inbox.viewer import Viewer
from wake.models import Delivery

COUNTED = 99
LONGEST = 16  # digits of microseconds since 1970, until the year 2286


def mark(at: datetime) -> str:
    """An instant as an address carries it: microseconds since 1970."""
    return str((at - EPOCH) // MICROSECOND)


def read_mark(text: str) -> datetime | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= LONGEST
    return EPOCH + timedelta(microseconds=int(text)) if is_number else None


def new_since(viewer: Viewer, since: datetime) -> str:
    """`3`, or `99+`; empty where nothing came. One query, a short range of inbox_of_a_team for each
    team and type."""
    lists = [
        Delivery.objects.for_team(team_id)
        .awaiting_response()
        .filter(lane=ApiKey.Lane.LIVE, type=type, created_at__gt=since)
        for team_id in viewer.team_ids
        for type in Delivery.Type.values
    ]
    count = sum(count_each(lists, at_most=COUNTED + 1))
    return f"{COUNTED}+" if count > COUNTED else str(count or "")
