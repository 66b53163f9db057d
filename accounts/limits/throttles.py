"""Limits requests that are not stored as rows, such as sign-ins and resets. Each feature has its
limits in a module of its own. Reads have a separate limit (accounts/limits/read_limits.py).

django-ratelimit counts the requests in the cache. While the cache is away, nothing is limited:
otherwise a Redis outage would be an outage of the inbox, too. Attempts at passwords are therefore
counted in the database, too (accounts/limits/attempts.py).
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

from django.conf import settings
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError

from accounts.limits import attempts
from database.clock import database_now

logger = logging.getLogger(__name__)

SKIP_SECONDS = 5.0


class WithHeaders(Protocol):
    """Describes a request of Django or of DRF."""

    @property
    def META(self) -> Any: ...  # noqa: N802 - Django's name


class TooManyRequests(Exception):
    """Too many requests; `retry_after` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(TooManyRequests.__doc__)
        self.retry_after = max(1, retry_after)


@dataclass
class _Outage:
    until: float = 0.0  # 0 if there is no outage


_outage = _Outage()


def client_address(request: WithHeaders) -> str:
    """Returns the peer's address, or the address in the configured proxy header. Never uses a
    header that anyone can send."""
    header = str(request.META.get(settings.WAKE_CLIENT_ADDRESS, ""))
    return _address_in(header.rpartition(",")[2])


def client_network(request: HttpRequest) -> str:
    """Returns the IPv4 address, or the /64 network of an IPv6 address, because an IPv6 client can
    choose any address in its /64."""
    return _network_of(client_address(request))


def network_in(text: str) -> str:
    """Returns the network of an address, or of the last address in the text of a proxy's header."""
    return _network_of(_address_in(text.rpartition(",")[2]))


@lru_cache(maxsize=1_000)  # without the cache, parsing doubles the time of this check
def _address_in(text: str) -> str:
    text, _, _ = text.strip().partition("%")  # the zone of a link-local address has no length limit
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    # A socket for both families returns ::ffff:192.0.2.1, which would put all of IPv4 into one /64.
    return str(getattr(address, "ipv4_mapped", None) or address)


@lru_cache(maxsize=1_000)
def _network_of(address: str) -> str:
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/64", strict=False))


def count(request: HttpRequest, *, group: str, rate: str, key: Callable[[], str]) -> None:
    if not may_ask_cache():
        return
    try:
        usage = get_usage(
            request, group=f"wake.{group}", key=lambda *_: key(), rate=rate, increment=True
        )
    except (RedisError, OSError) as error:
        record_outage(error)
        return
    record_answer()
    if usage and usage["should_limit"]:
        raise TooManyRequests(math.ceil(usage["time_left"]))


def count_attempts(request: HttpRequest, *limits: tuple[str, attempts.Limit, str]) -> None:
    """Counts one attempt for all of these groups, each with its limit and key. Every group is
    counted in the cache first. So a flood of attempts from one network writes nothing to the
    database, even if each attempt names another person."""
    for group, limit, key in limits:
        count(request, group=group, rate=limit.rate, key=partial(str, key))
    for group, limit, key in limits:
        if wait := attempts.take(limit, of=f"{group} {key}", at=database_now()):
            raise TooManyRequests(wait)


def is_cache_away() -> bool:
    """Returns whether the cache failed and has not answered since."""
    return time.monotonic() < _outage.until


def may_ask_cache() -> bool:
    """Returns whether to ask the cache. After a failure, only one request every few seconds asks
    the cache, and no other request waits for the answer."""
    now = time.monotonic()
    if now < _outage.until:
        return False
    if _outage.until:
        _outage.until = now + SKIP_SECONDS
    return True


def record_answer() -> None:
    """Ends an outage, because the cache has answered."""
    _outage.until = 0.0


def record_outage(error: Exception) -> None:
    """Remembers that the cache failed, so that no request asks the cache in the next few
    seconds."""
    _outage.until = time.monotonic() + SKIP_SECONDS
    logger.warning("Rate limits are off for %d s, the cache is away: %s", SKIP_SECONDS, error)
