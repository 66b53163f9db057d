"""Limits requests that have no row of their own, such as bad keys, sign-ins and resets. Reads have
a limit of their own (accounts/limits/read_limits.py).

django-ratelimit counts them in the cache. While the cache is away, it limits nothing: a limit that
fails closed would turn a Redis outage into an outage of the inbox. Attempts at passwords are
therefore counted in the database, too (accounts/sign_in/attempts.py).
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError
from rest_framework.request import Request

from accounts.sign_in import attempts, known_browsers
from database.clock import database_now
from pages.characters.addresses import read_address

logger = logging.getLogger(__name__)

BAD_KEYS = "60/m"
SIGN_INS = attempts.Limit(10, 60)
SIGN_INS_OF_A_NETWORK = attempts.Limit(60, 60)
SIGN_INS_OF_A_PERSON = attempts.Limit(60, 3_600)
PROVIDER_SIGN_INS = "120/m"  # a whole office may begin its day behind one address
RESETS_FOR_AN_ADDRESS = ("3/h", "8/d")
INVITATIONS_OF_A_PERSON = "40/d"
TEST_CALLBACKS = "10/m"
DNS_LOOKUPS = "10/m"
CHANNEL_MESSAGES = "10/m"
LINK_CODES = attempts.Limit(20, 86_400)
CSP_REPORTS = "60/m"
HOUR = 3_600
ANONYMOUS_BYTES = 100 * 2**20  # an hour for one network: ten of the longest messages
SKIP_SECONDS = 5.0
LONGEST_ADDRESS = 254  # the form refuses a longer one


class TooMany(Exception):
    """Too many requests; `retry_after` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(TooMany.__doc__)
        self.retry_after = max(1, retry_after)


@dataclass
class _Outage:
    until: float = 0.0  # no outage


_outage = _Outage()


def count_bad_key(request: HttpRequest | Request) -> None:
    """Raises TooMany if one address keeps sending bad keys. Good keys from the same address are
    never counted."""
    plain = request._request if isinstance(request, Request) else request
    _count(plain, group="bad-key", rate=BAD_KEYS, key=lambda: client_address(request))


def count_sign_in(request: HttpRequest, email: str) -> None:
    """Raises TooMany. Attempts in a browser that this person has used before are counted
    separately, so that attempts from elsewhere cannot lock the person out. The address is read as
    the form reads it (Django's UsernameField): in NFKC many spellings name one person. It is cut
    before, because a form of nothing but combining marks took minutes to normalise."""
    email = read_address(email.strip()[:LONGEST_ADDRESS])
    if browser := known_browsers.known_as(request, email):
        _count_attempt(
            request,
            ("known", SIGN_INS, f"{browser} {email}"),
            ("known-hour", SIGN_INS_OF_A_PERSON, f"{browser} {email}"),
        )
        return
    network = client_network(request)
    _count_attempt(
        request,
        ("sign-in", SIGN_INS, f"{network} {email}"),
        ("sign-in-network", SIGN_INS_OF_A_NETWORK, network),
        ("sign-in-person", SIGN_INS_OF_A_PERSON, email),
    )


def may_record_failure(request: HttpRequest) -> bool:
    """Returns whether a failed sign-in is recorded in the audit: 20 an hour for one network, 1000
    for all networks. The person makes no difference, because the response time would reveal it."""
    try:
        _count(request, group="failed", rate="20/h", key=lambda: client_network(request))
        _count(request, group="failed-all", rate="1000/h", key=lambda: "all")
    except TooMany:
        return False
    return True


def count_reset(request: HttpRequest) -> None:
    """Raises TooMany if one network asks for too many resets."""
    _count(request, group="reset", rate="10/h", key=lambda: client_network(request))


def count_reset_mail(request: HttpRequest, email: str) -> None:
    """Raises TooMany if this address got too many mails with a reset or a link that confirms it;
    the limit is per address, because the links of all of them work."""
    email = email.strip().lower()
    for rate in RESETS_FOR_AN_ADDRESS:
        _count(request, group="reset-mail", rate=rate, key=lambda: email)


def may_mail_a_reset(request: HttpRequest, email: str) -> bool:
    """Returns whether this address may get another mail with a reset."""
    try:
        count_reset_mail(request, email)
    except TooMany:
        return False
    return True


def count_provider_sign_in(request: HttpRequest) -> None:
    """Raises TooMany if one network begins too many sign-ins with the provider: each stores a
    session."""
    _count(request, group="provider", rate=PROVIDER_SIGN_INS, key=lambda: client_network(request))


def count_sign_up(request: HttpRequest) -> None:
    """Raises TooMany if one network signs up too many people, or tries out addresses."""
    _count(request, group="sign-up", rate="10/h", key=lambda: client_network(request))


def may_mail_an_invitation(request: HttpRequest, email: str) -> bool:
    """Returns whether an invitation may be mailed. Mails to one address and mails of one person are
    limited, so that invitations cannot fill a mailbox."""
    email, by = email.strip().lower(), str(request.user.pk)
    try:
        for rate in RESETS_FOR_AN_ADDRESS:
            _count(request, group="invitation-mail", rate=rate, key=lambda: email)
        _count(request, group="invitations-of", rate=INVITATIONS_OF_A_PERSON, key=lambda: by)
    except TooMany:
        return False
    return True


def count_test_callback(request: HttpRequest) -> None:
    """Raises TooMany. A test callback occupies a thread until the host answers, and slow hosts must
    not slow the pages down."""
    _count(request, group="test_callback", rate=TEST_CALLBACKS, key=lambda: str(request.user.pk))


def count_channel_message(request: HttpRequest) -> None:
    """Raises TooMany. A test of a channel, or a code for it, occupies a thread, too."""
    _count(request, group="channel", rate=CHANNEL_MESSAGES, key=lambda: str(request.user.pk))


def count_link_code(request: HttpRequest) -> None:
    """Raises TooMany. Each code that links an account has a few tries, and a person could have new
    codes sent all day; counted in the database, too."""
    _count_attempt(request, ("link-code", LINK_CODES, str(request.user.pk)))


def count_csp_report(request: HttpRequest) -> None:
    """Raises TooMany if one network sends too many reports of its browsers."""
    _count(request, group="csp-report", rate=CSP_REPORTS, key=lambda: client_network(request))


def count_dns_lookup(request: HttpRequest) -> None:
    """Raises TooMany. A DNS lookup occupies a thread, and a person chose the host name."""
    _count(request, group="look-up", rate=DNS_LOOKUPS, key=lambda: str(request.user.pk))


def count_bytes(network: str, size: int) -> None:
    """Raises TooMany. It counts the bytes that anonymous A2A callers of one network send to be
    stored, because a few long calls weigh as much as thousands of short ones
    (accounts/limits/read_limits.py)."""
    if not may_ask_cache():
        return
    hour, passed = divmod(int(time.time()), HOUR)
    key = f"wake.bytes:{network}:{hour}"
    try:
        cache.add(key, 0, HOUR)
        sent = cache.incr(key, size)
    except ValueError:  # the cache evicted the key between the two calls
        return
    except (RedisError, OSError) as error:
        note_outage(error)
        return
    note_answer()
    if sent > ANONYMOUS_BYTES:
        raise TooMany(HOUR - passed)


def client_address(request: HttpRequest | Request) -> str:
    """Returns the peer's address, or the one in the configured proxy header; never a header that
    anyone can send."""
    header = str(request.META.get(settings.WAKE_CLIENT_ADDRESS, ""))
    return _address_in(header.rpartition(",")[2])


def client_network(request: HttpRequest) -> str:
    """Returns the IPv4 address, or the /64 network of an IPv6 address, because an IPv6 client can
    choose any address in its /64."""
    return _network_of(client_address(request))


@lru_cache(maxsize=1_000)  # parsing takes as long as the rest of a look at a request
def _address_in(text: str) -> str:
    text, _, _ = text.strip().partition("%")  # the zone of a link-local address has no length limit
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    # A socket for both families gives ::ffff:192.0.2.1, which would put all of IPv4 into one /64.
    return str(getattr(address, "ipv4_mapped", None) or address)


@lru_cache(maxsize=1_000)
def _network_of(address: str) -> str:
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/64", strict=False))


def _count(request: HttpRequest, *, group: str, rate: str, key: Callable[[], str]) -> None:
    if not may_ask_cache():
        return
    try:
        usage = get_usage(
            request, group=f"wake.{group}", key=lambda *_: key(), rate=rate, increment=True
        )
    except (RedisError, OSError) as error:
        note_outage(error)
        return
    note_answer()
    if usage and usage["should_limit"]:
        raise TooMany(math.ceil(usage["time_left"]))


def _count_attempt(request: HttpRequest, *limits: tuple[str, attempts.Limit, str]) -> None:
    """Counts one attempt for all of these groups, each with its limit and key. All are counted in
    the cache first, so that a flood of attempts from one network writes nothing to the database,
    even if each names another person."""
    for group, limit, key in limits:
        _count(request, group=group, rate=limit.rate, key=partial(str, key))
    for group, limit, key in limits:
        if wait := attempts.take(limit, of=f"{group} {key}", at=database_now()):
            raise TooMany(wait)


def is_cache_away() -> bool:
    """Returns whether the cache failed and has not answered since."""
    return time.monotonic() < _outage.until


def may_ask_cache() -> bool:
    """Returns whether to ask the cache. After a failure, one request every few seconds asks, and no
    other request waits for it."""
    now = time.monotonic()
    if now < _outage.until:
        return False
    if _outage.until:
        _outage.until = now + SKIP_SECONDS
    return True


def note_answer() -> None:
    """Forgets that the cache failed."""
    _outage.until = 0.0


def note_outage(error: Exception) -> None:
    """Remembers that the cache failed, so that it is not asked for the next few seconds."""
    _outage.until = time.monotonic() + SKIP_SECONDS
    logger.warning("Rate limits are off for %d s, the cache is away: %s", SKIP_SECONDS, error)
