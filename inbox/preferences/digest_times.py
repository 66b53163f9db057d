"""Computes when a person's next digest is due, in their time zone and outside their quiet hours."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo

from inbox.models import EVERY_DAY, Preferences
from pages.local_time import instant

HOURS_A_DAY = 24


def next_digest(preferences: Preferences, zone: tzinfo, *, after: datetime) -> datetime | None:
    """Returns when the next digest is due, or None if the person wants none. A digest within quiet
    hours is due when the quiet hours end, so several digests become one."""
    slot = next(_slots(preferences, zone, after), None)
    return None if slot is None else preferences.after_quiet_hours(slot, zone)


def _slots(preferences: Preferences, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    if preferences.digest == Preferences.Digest.NEVER:
        return
    today = after.astimezone(zone).date()
    for day in (today + timedelta(days=number) for number in range(9)):
        if _is_chosen(preferences, day):
            slots = (instant(day, clock, zone) for clock in _clocks(preferences))
            yield from (slot for slot in slots if slot > after)


def _is_chosen(preferences: Preferences, day: date) -> bool:
    is_weekly = preferences.digest == Preferences.Digest.WEEKLY
    return str(day.weekday()) in (preferences.digest_days if is_weekly else EVERY_DAY)


def _clocks(preferences: Preferences) -> list[time]:
    """Returns the times of a day. "Every few hours" counts from the chosen time: 9:00 and four
    hours give 1, 5, 9, 13, 17 and 21."""
    first = preferences.digest_at
    if preferences.digest != Preferences.Digest.HOURS:
        return [first]
    hours = range(first.hour % preferences.digest_hours, HOURS_A_DAY, preferences.digest_hours)
    return [first.replace(hour=hour) for hour in hours]
