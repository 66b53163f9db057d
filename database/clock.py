"""Reads the database's clock, the one clock that all processes of a server share.

A web server with a wrong clock would write deadlines that have passed already, and would refuse
keys that another web server accepts. SQLite has no clock other than this machine's.

The database is not asked each time. A process remembers the difference between the database's clock
and its own monotonic clock, which no administrator can set. The process measures this difference
again every few seconds (docs/decisions/0023-the-databases-clock-is-read-in-passing.md).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FRESH_SECONDS = 10.0


class _Reading(NamedTuple):
    """Holds the database's clock minus the monotonic clock, and the time of that measurement, in
    microseconds."""

    offset: int
    read_at: int


_last: _Reading | None = None


def database_now() -> datetime:
    """Returns the database's time, as exactly as a short query can measure it."""
    if connection.vendor != "postgresql":
        return timezone.now()
    reading = (_last if is_fresh() else None) or _read()
    return EPOCH + timedelta(microseconds=reading.offset + ticks())


def is_fresh() -> bool:
    """Returns whether database_now() needs no query of its own now."""
    if connection.vendor != "postgresql":
        return True
    return _last is not None and ticks() - _last.read_at <= FRESH_SECONDS * 1_000_000


def record(instant: datetime, *, asked_at: int) -> None:
    """Takes a reading from a query that was sent at `asked_at` (by `ticks`) for another purpose.
    `instant` is the value that the query returned for Django's `Now()`."""
    if connection.vendor == "postgresql":
        _take(instant, asked_at=asked_at)


def ticks() -> int:
    """Reads the monotonic clock, in microseconds."""
    return time.monotonic_ns() // 1_000


def microseconds(at: datetime) -> int:
    """Returns the exact microseconds since 1970; a float of seconds would round the last digit."""
    return (at - EPOCH) // timedelta(microseconds=1)


def _read() -> _Reading:
    asked_at = ticks()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (instant,) = cursor.fetchone()
    return _take(instant, asked_at=asked_at)


def _take(instant: datetime, *, asked_at: int) -> _Reading:
    """Stores a reading of the database's clock. The database read its clock between the question
    and the answer, so the reading gives two bounds. The offset moves only as far as the bounds
    require, so a slow query does not move the clock."""
    global _last  # each process has one reading, which is replaced as a whole
    read_at = ticks()
    lowest, highest = microseconds(instant) - read_at, microseconds(instant) - asked_at
    offset = lowest if _last is None else min(max(_last.offset, lowest), highest)
    _last = _Reading(offset, read_at)
    return _last
