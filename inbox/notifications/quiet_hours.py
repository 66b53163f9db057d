"""Computes the quiet hours of a person, or of a team's channel."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from inbox.models import NotificationRule, Preferences
from pages.local_time import instant

DAY = timedelta(days=1)
Quiet = Preferences | NotificationRule


def after_quiet(quiet: Quiet, zone: tzinfo, *, at: datetime) -> datetime | None:
    """Returns `at` outside quiet hours, else when they end; None if they never do."""
    for _ in range(8):  # quiet hours may run into those of the next day, for a week at most
        ends = _ends(quiet, zone, at)
        if ends is None:
            return at
        at = ends
    return None


def _ends(quiet: Quiet, zone: tzinfo, at: datetime) -> datetime | None:
    """Returns when the quiet hours around `at` end. They belong to the day on which they begin and
    may end on the next; equal times mean 24 hours."""
    start, end = quiet.quiet_from, quiet.quiet_until
    if start is None or end is None:
        return None
    today = at.astimezone(zone).date()
    for day in (today - DAY, today):
        begins = instant(day, start, zone)
        ends = instant(day if start < end else day + DAY, end, zone)
        if str(day.weekday()) in quiet.quiet_days and begins <= at < ends:
            return ends
    return None
