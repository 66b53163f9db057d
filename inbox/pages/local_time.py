"""A person's own clock: what instant it is when it shows a time, also where clocks are changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from accounts.models import User


def zone_of(user: User) -> tzinfo:
    """UTC where the name is none: one bad row must not keep everybody else's digest back."""
    try:
        return ZoneInfo(user.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def instant(day: date, clock: time, zone: tzinfo) -> datetime:
    """In UTC. A time that is skipped in spring is as much later as the clock is put forward; one
    that comes twice in autumn is the first of the two (PEP 495)."""
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)
