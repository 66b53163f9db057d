"""Decides when a failed callback is tried again: for about three days, and not all at once."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from wake.callbacks.http_client import Outcome

RETRY_AFTER = [
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
TRIES = len(RETRY_AFTER) + 1
JITTER = 0.2  # so that callbacks that failed together are not retried together
WAIT_AT_MOST = max(RETRY_AFTER)
ASKS_FOR_TIME = {429, 503}


def wait(tries: int) -> timedelta:
    """After so many tries of the schedule."""
    return _spread(RETRY_AFTER[tries - 1])


def asked_for(outcome: Outcome, at: datetime) -> timedelta:
    """How long the receiver asks to be left alone: nothing for most outcomes, and at most what the
    longest wait of the schedule is."""
    if outcome.status_code not in ASKS_FOR_TIME:
        return timedelta(0)
    return _spread(min(_retry_after(outcome.retry_after, at), WAIT_AT_MOST))


def _spread(planned: timedelta) -> timedelta:
    return planned * random.uniform(1, 1 + JITTER)  # noqa: S311 - not a secret


def _retry_after(text: str, at: datetime) -> timedelta:
    """Seconds, or a date (RFC 9110, 10.2.3); nothing where it is neither."""
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or an offset of twenty digits overflows
        return timedelta(0)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)) - at
