"""Counts the deliveries that arrived after a page was made."""

from __future__ import annotations

from datetime import datetime, timedelta

from accounts.models import ApiKey
from database.batched_queries import MICROSECOND, count_each
from database.clock import EPOCH
from inbox.pages.viewer import Viewer
from wake.models import Delivery

COUNT_UP_TO = 99
MOST_DIGITS = 16  # digits of microseconds since 1970, until the year 2286


def mark(at: datetime) -> str:
    """Returns an instant as an address carries it: microseconds since 1970."""
    return str((at - EPOCH) // MICROSECOND)


def read_mark(text: str) -> datetime | None:
    """Returns the instant of a `mark`, or None for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return EPOCH + timedelta(microseconds=int(text)) if is_number else None


def new_since(viewer: Viewer, since: datetime) -> str:
    """Returns `3`, or `99+`; empty if nothing arrived. One query, with a short range of
    inbox_of_a_team for each team and type."""
    lists = [
        Delivery.objects.for_team(team_id)
        .awaiting_response()
        .filter(mode=ApiKey.Mode.LIVE, type=type, created_at__gt=since)
        for team_id in viewer.team_ids
        for type in Delivery.Type.values
    ]
    count = sum(count_each(lists, at_most=COUNT_UP_TO + 1))
    return f"{COUNT_UP_TO}+" if count > COUNT_UP_TO else str(count or "")
