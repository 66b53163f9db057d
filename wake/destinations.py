"""Where callbacks may go, and the only door through which HTTP leaves this server."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import aiohttp
import idna
from aiohttp.abc import AbstractResolver, ResolveResult
from django.conf import settings
from django.db import transaction
from publicsuffixlist import PublicSuffixList
from yarl import URL

from accounts.audit import Actor, record
from accounts.models import Team
from wake.models import CallbackHost

DEADLINE_SECONDS = 10.0
READ_AT_MOST = 65_536
KEPT_FOR_PEOPLE = 2_048
LOOK_UPS = 100
LOOK_UP_SECONDS = 3.0
HTTPS_PORT = 443
# Development alone: an agent's receiver on the developer's own machine.
LOOPBACK_NAMES = {"localhost", "127.0.0.1"}

# Parsers disagree about these, or drop them silently.
TROUBLE = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST = re.compile(rf"{LABEL}(?:\.{LABEL})*")
HOST_LENGTH = 253
# Whatever ends in a number is read as an IPv4 address somewhere: 1.2.3.4, 0x7f.1, 2130706433.
ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")

# An explicit list, because `is_private` and `is_global` each let some of these through.
DENIED = {
    4: [
        ip_network(text)
        for text in (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host agent, a public address
            "169.254.0.0/16",  # link-local, and the metadata of most clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT relays
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        )
    ],
    6: [
        ip_network(text)
        for text in (
            # Only 2000::/3 is handed out. Below it are ::, ::1, every form with an IPv4 address
            # inside (::127.0.0.1, ::ffff:127.0.0.1, NAT64's 64:ff9b::) and 100::, the discard
            # prefix; above it are unique local, link-local, site-local and multicast addresses.
            "::/3",
            "4000::/2",
            "8000::/1",
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: an IPv4 address inside
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        )
    ],
}


class Refused(Exception):
    """This address is not one that callbacks may go to; `code` is for machines, the message for
    people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Destination:
    """A callback's URL taken apart; `host` is in canonical form, `target` untouched."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def name(self) -> str:
        """As a line of the allowlist names it: the port only where it is not https's own."""
        return self.host if self.port == HTTPS_PORT else f"{self.host}:{self.port}"

    @property
    def patterns(self) -> list[str]:
        return patterns_of(self.name)

    @property
    def url(self) -> URL:
        return URL(f"{self.scheme}://{self.host}:{self.port}{self.target}", encoded=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one POST. A failure of the other server is data, never an exception: without a
    complete answer `status_code` is None and `error` says why."""

    status_code: int | None = None
    error: str = ""
    answer: str = ""
    retry_after: str = ""
    took_ms: int = 0

    @property
    def arrived(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


def patterns_of(name: str) -> list[str]:
    """Every line that would let it through: itself, or `*.` and any of its parents."""
    labels = name.split(".")
    parents = (".".join(labels[start:]) for start in range(1, len(labels)))
    return [name, *(f"*.{parent}" for parent in parents)]


def check(url: str, *, team_id: int) -> None:
    """Raises Refused where callbacks of this team may not go there; one query, no look-up of the
    name."""
    destination = parse(url)
    lines = CallbackHost.objects.filter(team_id=team_id, pattern__in=destination.patterns)
    if not lines.exists():
        raise Refused(
            "host_not_allowed",
            f"{destination.name} is not on the list of hosts that callbacks of this team may go "
            f"to. An owner of the team adds it at {settings.WAKE_ORIGIN}/settings/allowlist/ or, "
            f"on the server, manage.py allow_callback {destination.name}",
        )


@transaction.atomic
def allow(pattern: str, *, team: Team, by: Actor) -> tuple[CallbackHost, bool]:
    """The line of the team's allowlist, and whether it is new; raises Refused."""
    line, is_new = CallbackHost.objects.get_or_create(team=team, pattern=canonical(pattern))
    if is_new:
        record("callback_host.allowed", by=by, of=line, team=team)
    return line, is_new


@transaction.atomic
def disallow(line: CallbackHost, *, by: Actor) -> None:
    """Takes a line off the team's allowlist: a callback that waits is refused at its next
    attempt."""
    deleted, _ = CallbackHost.objects.filter(pk=line.pk).delete()
    if deleted:
        record("callback_host.removed", by=by, of=line, team=line.team_id)


def canonical(pattern: str) -> str:
    """A line of the allowlist, `host`, `host:port` or either behind `*.`, in the one form in which
    it is compared; raises Refused."""
    text = pattern.strip()
    if re.search(r"[/@\\]", text):
        raise Refused("bad_host", "Write the host alone, such as hooks.example.com, not a URL.")
    wildcard = text.startswith("*.")
    host_text, colon, port_text = text.removeprefix("*.").rpartition(":")
    if not colon:
        host_text, port_text = port_text, str(HTTPS_PORT)
    if not re.fullmatch(r"[0-9]{1,5}", port_text):
        raise Refused("bad_port", "After the colon comes the port, a number.")
    host, port = _canonical_host(host_text), _checked_port(int(port_text))
    if wildcard and (_is_developers_own(host) or PublicSuffixList().is_public(host)):
        raise Refused("bad_host", f"*.{host} is too wide: name one owner's, as in *.example.com.")
    name = Destination("https", host, port, "/").name
    return f"*.{name}" if wildcard else name


def parse(url: str) -> Destination:
    """Raises Refused for what no allowlist can let through."""
    if TROUBLE.search(url) or "#" in url:
        raise Refused("bad_url", "A callback's URL has no spaces, backslashes or # in it.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("bad_url", "The host or the port of this URL cannot be read.") from None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii():
        raise Refused("bad_url", "Write what follows the host percent-encoded, such as %C3%A9.")
    if "@" in parts.netloc:
        raise Refused("bad_url", "Leave name and password out of the URL: callbacks are signed.")
    if parts.scheme not in {"https", "http"}:
        raise Refused("https_required", "Callbacks go to https:// addresses only.")
    host = _canonical_host(parts.hostname or "")
    if parts.scheme == "http" and not _is_developers_own(host):
        raise Refused("https_required", "Callbacks go to https:// addresses only.")
    if port is None:
        port = HTTPS_PORT if parts.scheme == "https" else 80
    return Destination(parts.scheme, host, _checked_port(port), target)


def _canonical_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    if _is_developers_own(host):
        return host
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()
        except UnicodeError:
            raise Refused("bad_host", f"{host!r} is not a host name.") from None
    if ":" in host or ENDS_IN_NUMBER.fullmatch(host):
        raise Refused("ip_address", "Callbacks go to names, not to IP addresses.")
    if host == "localhost":
        raise Refused("bad_host", "localhost is for development only (WAKE_DEV=1).")
    if not HOST.fullmatch(host) or len(host) > HOST_LENGTH:
        raise Refused("bad_host", f"{host!r} is not a host name.")
    return host


def _checked_port(port: int) -> int:
    if not 0 < port <= 65_535:
        raise Refused("bad_port", "A port is a number between 1 and 65535.")
    return port


def _is_developers_own(host: str) -> bool:
    return settings.DEVELOPMENT and host in LOOPBACK_NAMES


class Door:
    """The connections of one sender; made, used and closed inside its event loop."""

    def __init__(
        self,
        *,
        names: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._deadline = deadline
        asyncio.get_running_loop().set_default_executor(_LookUps(max_workers=LOOK_UPS))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_CheckedResolver(names or aiohttp.ThreadedResolver()),
                ssl=tls or True,
                limit=0,  # a claim takes no more than there are slots for (wake/outbox.py)
                keepalive_timeout=2,  # a later reuse meets connections that the other side closed
            ),
            timeout=aiohttp.ClientTimeout(total=None),  # theirs is per part, ours is for it all
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            headers={"User-Agent": "Wake/1.0", "Accept": "*/*", "Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        await self._session.close()

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """One POST: one deadline for the name, the connection, the answer and its body. Whoever
        calls it has asked `check` whether this team's callbacks may go there."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline):
                outcome = await self._exchange(parse(url), body, headers)
        except (Refused, TimeoutError, aiohttp.ClientError, OSError, UnicodeError) as failure:
            outcome = Outcome(error=_in_words(failure))
        return replace(outcome, took_ms=round((time.monotonic() - started) * 1000))

    async def _exchange(
        self, destination: Destination, body: bytes, headers: Mapping[str, str]
    ) -> Outcome:
        request = self._session.post(
            destination.url, data=body, headers=headers, allow_redirects=False
        )
        async with request as response:
            start = await _start_of(response.content)
            # Not `release`, which would wait for the rest, unless there is none.
            if not response.content.at_eof():
                response.close()
        return Outcome(
            status_code=response.status,
            error="redirects are not followed" if 300 <= response.status < 400 else "",
            answer=_printable(start),
            retry_after=response.headers.get("Retry-After", ""),
        )


class _LookUps(ThreadPoolExecutor):
    """Threads that wait for name servers: enough that dead names are no queue before the living
    ones, and nobody stays behind for one that never answers."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        super().shutdown(wait=False, cancel_futures=True)


class _CheckedResolver(AbstractResolver):
    """Looks a name up once, and hands out its addresses only where every one of them may be
    connected to: aiohttp then connects to exactly these, and the name stays what Host, SNI and the
    certificate are about."""

    def __init__(self, names: AbstractResolver) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        may_connect = is_loopback if _is_developers_own(host) else is_public
        if not all(may_connect(each["host"]) for each in found):
            raise Refused(
                "address_denied",
                f"{host} leads to an address that callbacks may not go to: private or reserved.",
            )
        return found

    async def close(self) -> None:
        await self._names.close()


def look_up(name: str, *, names: AbstractResolver | None = None) -> None:
    """Where a line without `*.` leads now; raises Refused where callbacks would not connect to it,
    and OSError where it leads nowhere or no name server answers in good time."""
    host, _, port = name.partition(":")

    async def resolve() -> None:
        asyncio.get_running_loop().set_default_executor(_LookUps(max_workers=1))
        resolver = _CheckedResolver(names or aiohttp.ThreadedResolver())
        async with asyncio.timeout(LOOK_UP_SECONDS):
            await resolver.resolve(host, int(port or HTTPS_PORT))

    asyncio.run(resolve())


def is_public(address: str) -> bool:
    """Whether it is none of the addresses behind which something of ours, or nothing, may be."""
    ip = ip_address(address)
    return not any(ip in network for network in DENIED[ip.version])


def is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback


async def _start_of(content: aiohttp.StreamReader) -> bytes:
    """At most READ_AT_MOST is taken off the wire, and the first of it kept."""
    kept, taken = b"", 0
    while taken < READ_AT_MOST and (chunk := await content.read(READ_AT_MOST - taken)):
        taken += len(chunk)
        kept = (kept + chunk)[:KEPT_FOR_PEOPLE]
    return kept


def _printable(start: bytes) -> str:
    """Without control characters; a database refuses the first of them."""
    text = start.decode(errors="replace")
    return "".join(sign for sign in text if sign in "\n\t" or sign.isprintable())


def _in_words(failure: Exception) -> str:
    match failure:
        case TimeoutError():
            return "timed out"
        case Refused():
            return str(failure)
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(failure.certificate_error, "verify_message", "")
            return f"the certificate was not accepted: {why}"
        case aiohttp.ClientSSLError():
            return "the TLS handshake failed"
        case aiohttp.ClientConnectorDNSError():
            return "the name cannot be resolved"
        case aiohttp.ClientConnectorError():
            return f"no connection: {os.strerror(failure.os_error.errno or 0)}"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return "the connection was closed without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer broke off"
        case aiohttp.ClientResponseError():
            return "the answer is not HTTP"
    return f"failed: {type(failure).__name__} {failure}".strip()
