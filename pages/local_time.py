"""Converts between instants and a person's local time, including changes to and from summer
time."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class HasTimeZone(Protocol):
    """Describes a person who has chosen a time zone by its name."""

    time_zone: str


def zone_of(user: HasTimeZone) -> tzinfo:
    """Returns the person's time zone. Returns UTC if its name is invalid, so that one bad row does
    not stop every digest."""
    try:
        return ZoneInfo(user.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def instant(day: date, clock: time, zone: tzinfo) -> datetime:
    """Returns the instant in UTC. A time that is skipped in spring moves on with the clock. A time
    that is repeated in autumn means its first occurrence (PEP 495)."""
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)
