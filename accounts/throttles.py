"""Rate limits for what has no row of its own: bad keys, sign-ins and resets by address, reads by
key.

They are kept in the cache by django-ratelimit, and let everything pass while the cache is away: a
limit that fails closed would turn a Redis outage into an outage of the inbox.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError
from rest_framework.request import Request

from accounts import known_browsers
from accounts.models import ApiKey

logger = logging.getLogger(__name__)

BAD_KEYS = "60/m"
SIGN_INS = "10/m"
SIGN_INS_OF_A_PERSON = "60/h"
RESETS_FOR_AN_ADDRESS = ("3/h", "8/d")
INVITATIONS_OF_A_PERSON = "40/d"
REHEARSALS = "10/m"
LOOK_UPS = "10/m"
HOUR = 3_600
BYTES_OF_STRANGERS = 100 * 2**20  # an hour of one network: ten of the longest messages
SKIP_SECONDS = 5.0


class TooMany(Exception):
    """More requests than the limit; `retry_after` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(TooMany.__doc__)
        self.retry_after = max(1, retry_after)


@dataclass
class _Outage:
    until: float = 0.0


_outage = _Outage()


def count_bad_key(request: HttpRequest | Request) -> None:
    """Raises TooMany where one address keeps sending bad keys; good ones from the same address are
    never counted."""
    plain = request._request if isinstance(request, Request) else request
    _count(plain, group="bad-key", rate=BAD_KEYS, key=lambda: client_address(request))


def count_sign_in(request: HttpRequest, email: str) -> None:
    """Raises TooMany; what strangers try at somebody's address is counted apart from what is tried
    in a browser that this person has used before, so that nobody can lock another one out."""
    email = email.strip().lower()
    if browser := known_browsers.known_as(request, email):
        _count(request, group="known", rate=SIGN_INS, key=lambda: f"{browser} {email}")
        rate = SIGN_INS_OF_A_PERSON
        _count(request, group="known-hour", rate=rate, key=lambda: f"{browser} {email}")
        return
    network = client_network(request)
    _count(request, group="sign-in", rate=SIGN_INS, key=lambda: f"{network} {email}")
    _count(request, group="sign-in-network", rate="60/m", key=lambda: network)
    _count(request, group="sign-in-person", rate=SIGN_INS_OF_A_PERSON, key=lambda: email)


def is_worth_an_event(request: HttpRequest) -> bool:
    """Whether one more sign-in that failed goes into the audit: 20 an hour from one network, 1000
    from all of them. Who was tried makes no difference, or the time it takes would tell."""
    try:
        _count(request, group="failed", rate="20/h", key=lambda: client_network(request))
        _count(request, group="failed-all", rate="1000/h", key=lambda: "all")
    except TooMany:
        return False
    return True


def count_reset(request: HttpRequest) -> None:
    """Raises TooMany where one network asks for one reset after the other."""
    _count(request, group="reset", rate="10/h", key=lambda: client_network(request))


def may_mail_a_reset(request: HttpRequest, email: str) -> bool:
    """Few mails to one address, whoever asks for them; each of them works for its reader."""
    email = email.strip().lower()
    try:
        for rate in RESETS_FOR_AN_ADDRESS:
            _count(request, group="reset-mail", rate=rate, key=lambda: email)
    except TooMany:
        return False
    return True


def count_sign_up(request: HttpRequest) -> None:
    """Raises TooMany where one network makes one new person after the other, or tries addresses."""
    _count(request, group="sign-up", rate="10/h", key=lambda: client_network(request))


def may_mail_an_invitation(request: HttpRequest, email: str) -> bool:
    """Few to one address, whoever invites, and few of one person: an inbox full of them is no
    invitation."""
    email, by = email.strip().lower(), str(request.user.pk)
    try:
        for rate in RESETS_FOR_AN_ADDRESS:
            _count(request, group="invitation-mail", rate=rate, key=lambda: email)
        _count(request, group="invitations-of", rate=INVITATIONS_OF_A_PERSON, key=lambda: by)
    except TooMany:
        return False
    return True


def count_rehearsal(request: HttpRequest) -> None:
    """Raises TooMany: each is waited for, and a host that is slow must not take the pages with
    it."""
    _count(request, group="rehearsal", rate=REHEARSALS, key=lambda: str(request.user.pk))


def count_look_up(request: HttpRequest) -> None:
    """Raises TooMany: so is each of these, and it asks a name server for a name that a person
    chose."""
    _count(request, group="look-up", rate=LOOK_UPS, key=lambda: str(request.user.pk))


def count_read(request: Request, key: ApiKey) -> None:
    """Raises TooMany; generous, because a poll costs next to nothing (PROTOCOL.md, Limits)."""
    rate = f"{settings.WAKE_READS_PER_MINUTE}/m"
    _count(request._request, group="read", rate=rate, key=lambda: str(key.pk))


def count_call(request: HttpRequest, caller: str) -> None:
    """Raises TooMany; what is called over A2A, by caller key or, where there is none, by network.
    As generous as reads: what a call may store has limits of its own."""
    rate = f"{settings.WAKE_READS_PER_MINUTE}/m"
    _count(request, group="call", rate=rate, key=lambda: caller or client_network(request))


def count_bytes(network: str, size: int) -> None:
    """Raises TooMany; what is sent over A2A without a caller key, to be stored, by network. Beside
    how often (count_call): few calls may be as long as thousands."""
    if time.monotonic() < _outage.until:
        return
    hour, passed = divmod(int(time.time()), HOUR)
    key = f"wake.bytes:{network}:{hour}"
    try:
        cache.add(key, 0, HOUR)
        sent = cache.incr(key, size)
    except ValueError:  # thrown out in between, to make room
        return
    except (RedisError, OSError) as error:
        _let_pass(error)
        return
    if sent > BYTES_OF_STRANGERS:
        raise TooMany(HOUR - passed)


def client_address(request: HttpRequest | Request) -> str:
    """The peer's address, or what the one configured proxy header says (never a header that anyone
    can send)."""
    text = str(request.META.get(settings.WAKE_CLIENT_ADDRESS, "")).split(",")[-1].strip()
    text, _, _ = text.partition("%")  # the zone of a link-local address has no length limit
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    # A socket for both families says ::ffff:192.0.2.1: one /64 for everybody who has IPv4.
    return str(getattr(address, "ipv4_mapped", None) or address)


def client_network(request: HttpRequest) -> str:
    """Whose tries are counted together: of IPv6 everybody has a /64 to choose addresses from."""
    address = client_address(request)
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/64", strict=False))


def _count(request: HttpRequest, *, group: str, rate: str, key: Callable[[], str]) -> None:
    if time.monotonic() < _outage.until:
        return
    try:
        usage = get_usage(
            request, group=f"wake.{group}", key=lambda *_: key(), rate=rate, increment=True
        )
    except (RedisError, OSError) as error:
        _let_pass(error)
        return
    if usage and usage["should_limit"]:
        raise TooMany(math.ceil(usage["time_left"]))


def _let_pass(error: Exception) -> None:
    _outage.until = time.monotonic() + SKIP_SECONDS
    logger.warning("Rate limits are off for %d s, the cache is away: %s", SKIP_SECONDS, error)
