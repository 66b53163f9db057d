"""The hours in which a person is told nothing."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from inbox.models import Preferences
from inbox.own_clock import instant

DAY = timedelta(days=1)


def after_quiet(preferences: Preferences, zone: tzinfo, *, at: datetime) -> datetime | None:
    """`at` itself where it is not quiet then, else when the quiet is over; None where it never
    is."""
    for _ in range(8):  # the quiet of one day may run into that of the next, a week at most
        ends = _ends(preferences, zone, at)
        if ends is None:
            return at
        at = ends
    return None


def _ends(preferences: Preferences, zone: tzinfo, at: datetime) -> datetime | None:
    """When the quiet hours in which `at` lies are over. Those of a day begin on that day and may
    end on the next; from a time to the same time is 24 hours."""
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
