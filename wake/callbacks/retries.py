"""Decides when a failed callback is tried again: for about three days, with different waits for
each callback."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from wake.callbacks.http_client import HttpResult

SCHEDULE = [
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
]
MAX_ATTEMPTS = len(SCHEDULE) + 1
JITTER = 0.2  # so that callbacks that fail at the same time are retried at different times
LONGEST_WAIT = max(SCHEDULE)
ASKS_FOR_TIME = {429, 503}


def wait(tries: int) -> timedelta:
    """Returns how long to wait after this many tries of the schedule."""
    return _with_jitter(SCHEDULE[tries - 1])


def asked_for(outcome: HttpResult, at: datetime) -> timedelta:
    """Returns how long the receiver asks to wait. This is zero for most outcomes, and never longer
    than the longest wait of the schedule."""
    if outcome.status_code not in ASKS_FOR_TIME:
        return timedelta(0)
    return _with_jitter(min(_retry_after(outcome.retry_after, at), LONGEST_WAIT))


def _with_jitter(planned: timedelta) -> timedelta:
    return planned * random.uniform(1, 1 + JITTER)  # noqa: S311 - not a secret


def _retry_after(text: str, at: datetime) -> timedelta:
    """Reads seconds or a date (RFC 9110, section 10.2.3). Returns zero if the text is neither, or
    the date has passed."""
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or an offset of twenty digits overflows
        return timedelta(0)
    return max(timedelta(0), (date if date.tzinfo else date.replace(tzinfo=UTC)) - at)
