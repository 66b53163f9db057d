"""Limits how often each key reads, without a round trip to the cache for each read.

Each process counts by itself, and adds its count to the cache whenever the count reaches a
twentieth of the limit. The cache returns the count of all processes. So each process may admit a
twentieth more than the limit (docs/decisions/0025-reads-are-counted-in-shares.md).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis.exceptions import RedisError

from accounts.limits import throttles

SHARES = 20
MINUTE = 60
COUNTED = "wake_counted_read"


@dataclass(slots=True)
class _Count:
    """Counts the reads or calls of one key or network in this minute: what all processes have
    shared, and what this process has not shared yet."""

    shared: int = 0
    own: int = 0


@dataclass(slots=True)
class _Minute:
    number: int = 0
    counts: dict[UUID | str, _Count] = field(default_factory=dict)


_this_minute = _Minute()
_sharing = threading.Lock()


def count_read(key_id: UUID) -> None:
    """Raises throttles.TooManyRequests. The limit is generous, because a poll costs little
    (docs/protocol.md, Limits). While the cache is away, there is no limit."""
    _add_read(key_id)


def count_call(request: HttpRequest, caller_id: UUID | None) -> None:
    """Raises throttles.TooManyRequests. Calls over A2A are counted by caller key, or by network if
    there is no key. The limit for reads applies to calls, too, because a separate limit applies to
    the content that a call stores. A request counts only once, even if the remembered caller cannot
    send it and its caller is read again (relay/api/views.py)."""
    reader = caller_id or throttles.client_network(request)
    if vars(request).get(COUNTED) == reader:
        return
    setattr(request, COUNTED, reader)
    _add_read(reader)


def _add_read(reader: UUID | str) -> None:
    global _this_minute  # replaced as a whole when a minute ends, so that its counts are dropped
    number, passed = divmod(int(time.time()), MINUTE)
    if _this_minute.number != number:
        _this_minute = _Minute(number)
    count = _this_minute.counts.setdefault(reader, _Count())
    count.own += 1
    limit = settings.WAKE_READS_PER_MINUTE
    # Only one thread at a time asks the cache, so that a frozen cache delays no other request.
    if count.own * SHARES >= limit and _sharing.acquire(blocking=False):
        try:
            _share(count, f"wake.reads:{reader}:{number}")
        finally:
            _sharing.release()
    if count.shared + count.own > limit and not throttles.is_cache_away():
        raise throttles.TooManyRequests(MINUTE - passed)


def _share(count: _Count, name: str) -> None:
    if not throttles.may_ask_cache():
        return
    share, count.own = count.own, 0
    try:
        cache.add(name, 0, MINUTE)
        count.shared = cache.incr(name, share)
    except ValueError:  # the cache evicted the name between the two calls
        count.shared += share
    except (RedisError, OSError) as error:
        count.own += share
        throttles.record_outage(error)
    else:
        throttles.record_answer()
