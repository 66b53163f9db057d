"""Computes a person's quiet hours."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from inbox.models import Preferences
from inbox.pages.local_time import instant

DAY = timedelta(days=1)


def after_quiet(preferences: Preferences, zone: tzinfo, *, at: datetime) -> datetime | None:
    """Returns `at` outside quiet hours, else when they end; None if they never do."""
    for _ in range(8):  # quiet hours may run into those of the next day, for a week at most
        ends = _ends(preferences, zone, at)
        if ends is None:
            return at
        at = ends
    return None


def _ends(preferences: Preferences, zone: tzinfo, at: datetime) -> datetime | None:
    """Returns when the quiet hours around `at` end. They belong to the day on which they begin and
    may end on the next; equal times mean 24 hours."""
    start, end = preferences.quiet_from, preferences.quiet_until
    if start is None or end is None:
        return None
    today = at.astimezone(zone).date()
    for day in (today - DAY, today):
        begins = instant(day, start, zone)
        ends = instant(day if start < end else day + DAY, end, zone)
        if str(day.weekday()) in preferences.quiet_days and begins <= at < ends:
            return ends
    return None
