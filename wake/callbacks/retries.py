"""When a callback that failed is tried again: for about three days, and never as one herd."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from wake.destinations import Outcome

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
JITTER = 0.2  # so that what failed together does not come back together
WAIT_AT_MOST = timedelta(hours=24)
ASKS_FOR_TIME = {429, 503}


def wait(tries: int, outcome: Outcome, at: datetime) -> timedelta:
    """After so many tries, of which the last ended like this."""
    planned = RETRY_AFTER[tries - 1]
    if outcome.status_code in ASKS_FOR_TIME:
        planned = max(planned, min(_asked_for(outcome.retry_after, at), WAIT_AT_MOST))
    return planned * random.uniform(1, 1 + JITTER)  # noqa: S311 - not a secret


def _asked_for(retry_after: str, at: datetime) -> timedelta:
    """Seconds, or a date (RFC 9110, 10.2.3); nothing where it is neither."""
    text = retry_after.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the second is for a year or an offset of twenty digits
        return timedelta(0)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)) - at
