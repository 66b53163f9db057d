"""Limits the bytes that anonymous callers store."""

from __future__ import annotations

import time

from django.core.cache import cache
from redis.exceptions import RedisError

from accounts.limits import throttles

HOUR = 3_600
ANONYMOUS_BYTES = 100 * 2**20  # the limit of one network in an hour: ten of the longest messages


def count_bytes(network: str, size: int) -> None:
    """Raises TooManyRequests. Counts the bytes that anonymous A2A callers of one network store,
    because a few long calls store as much as thousands of short ones
    (accounts/limits/read_limits.py)."""
    if not throttles.may_ask_cache():
        return
    hour, passed = divmod(int(time.time()), HOUR)
    key = f"wake.bytes:{network}:{hour}"
    try:
        cache.add(key, 0, HOUR)
        sent = cache.incr(key, size)
    except ValueError:  # the cache evicted the key between the two calls
        return
    except (RedisError, OSError) as error:
        throttles.record_outage(error)
        return
    throttles.record_answer()
    if sent > ANONYMOUS_BYTES:
        raise throttles.TooManyRequests(HOUR - passed)
