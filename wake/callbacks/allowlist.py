"""Decides which hosts a team's callbacks may go to."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property
from urllib.parse import unquote, urlsplit

import idna
from django.conf import settings
from django.db import transaction
from publicsuffixlist import PublicSuffixList

from accounts.audit import Actor, record
from accounts.models import Team
from database.compiled_queries import CompiledQuery, list_parameter, parameter
from wake.models import CallbackHost

HTTPS_PORT = 443
# Allowed only in development, for an agent's receiver on the developer's own machine.
LOOPBACK_NAMES = {"localhost", "127.0.0.1"}

# Parsers disagree about these characters, or drop them silently.
AMBIGUOUS = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST = re.compile(rf"{LABEL}(?:\.{LABEL})*")
HOST_LENGTH = 253
# Some parsers read a name that ends in a number as IPv4: 1.2.3.4, 0x7f.1, 2130706433.
ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


# Two addresses of a host are told apart by the end of a long path and query.
ENDING, LONG_TARGET = 4, 24
SHORTEST_SECRET = 8  # characters; shorter parts of a path are words such as `hooks`


class AddressRefused(Exception):
    """Callbacks may not go to this address. `code` is for machines, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Destination:
    """Holds the parts of a callback's URL. `host` is in canonical form; `target` is unchanged."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def name(self) -> str:
        """Returns the form that the allowlist uses: `host` for port 443, and `host:port` for every
        other port."""
        return self.host if self.port == HTTPS_PORT else f"{self.host}:{self.port}"

    @property
    def patterns(self) -> list[str]:
        return patterns_of(self.name)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def masked_target(self) -> str:
        """Returns the path and query as people see them, because the URL of a waiting run is a
        secret (docs/decisions/0080-callback-urls-are-masked.md)."""
        if self.target == "/":
            return "/"
        return f"/…{self.target[-ENDING:]}" if len(self.target) >= LONG_TARGET else "/…"

    @property
    def masked(self) -> str:
        return f"{self.scheme}://{self.name}{self.masked_target}"

    def mask_in(self, text: str) -> str:
        """Returns the text without the path and query, and without their longer segments and
        values. Servers quote these in error messages."""
        for part in self._secrets:
            text = text.replace(part, "…")
        return text

    @cached_property
    def _secrets(self) -> list[str]:
        pieces = [piece.partition("=") for piece in re.split(r"[/?&]", self.target)]
        parts = {self.target, *(value if equals else name for name, equals, value in pieces)}
        parts |= {unquote(part) for part in parts}
        longer = [part for part in parts if len(part) >= SHORTEST_SECRET]
        return sorted(longer, key=len, reverse=True)


def masked(url: str) -> str:
    """Returns the URL of a callback as people see it."""
    try:
        return parse(url).masked
    except AddressRefused:
        return "…"


def patterns_of(name: str) -> list[str]:
    """Returns every line that allows this name: the name itself, and `*.` with each parent."""
    labels = name.split(".")
    parents = (".".join(labels[start:]) for start in range(1, len(labels)))
    return [name, *(f"*.{parent}" for parent in parents)]


def check(url: str, *, team_id: int) -> None:
    """Raises AddressRefused if this team's callbacks may not go to this URL. Makes one query and no
    DNS lookup."""
    destination = parse(url)
    if not _lines().rows(team=team_id, patterns=destination.patterns):
        raise AddressRefused(
            "host_not_allowed",
            f"{destination.name} is not one of this team's callback hosts. An owner can add "
            f"it at {settings.WAKE_ORIGIN}/settings/allowlist/, or on the server with "
            f"manage.py allow_callback {destination.name}",
        )


@cache
def _lines() -> CompiledQuery:
    """Returns the query for those lines of a team that match one of some patterns."""
    lines = CallbackHost.objects.filter(
        team=parameter("team", CallbackHost, "team"),
        pattern__one_of=list_parameter("patterns", CallbackHost, "pattern"),
    )
    return CompiledQuery(lambda: lines.values_list("pk")[:1])


@transaction.atomic
def allow(pattern: str, *, team: Team, by: Actor) -> tuple[CallbackHost, bool]:
    """Adds a line to the team's allowlist; returns it and whether it is new. Raises
    AddressRefused."""
    line, is_new = CallbackHost.objects.get_or_create(team=team, pattern=canonical(pattern))
    if is_new:
        record("callback_host.allowed", by=by, of=line, team=team)
    return line, is_new


@transaction.atomic
def disallow(line: CallbackHost, *, by: Actor) -> None:
    """Removes a line from the team's allowlist. A waiting callback to that host is refused at its
    next attempt."""
    deleted, _ = CallbackHost.objects.filter(pk=line.pk).delete()
    if deleted:
        record("callback_host.removed", by=by, of=line, team=line.team_id)


def canonical(pattern: str) -> str:
    """Returns an allowlist line (`host`, `host:port`, or either after `*.`) in the form that is
    compared. Raises AddressRefused."""
    text = pattern.strip()
    if re.search(r"[/@\\]", text):
        raise AddressRefused(
            "bad_host", "Enter only the host, such as hooks.example.com, not a URL."
        )
    wildcard = text.startswith("*.")
    host_text, colon, port_text = text.removeprefix("*.").rpartition(":")
    if not colon:
        host_text, port_text = port_text, str(HTTPS_PORT)
    if not re.fullmatch(r"[0-9]{1,5}", port_text):
        raise AddressRefused("bad_port", "The port after the colon must be a number.")
    host, port = _canonical_host(host_text), _checked_port(int(port_text))
    if wildcard and (is_loopback_name(host) or PublicSuffixList().is_public(host)):
        raise AddressRefused(
            "bad_host", f"*.{host} is too broad. Name one domain, as in *.example.com."
        )
    name = Destination("https", host, port, "/").name
    return f"*.{name}" if wildcard else name


def parse(url: str, *, trusted: Collection[str] = ()) -> Destination:
    """Splits the URL of a callback. Raises AddressRefused if no allowlist can allow it. A `trusted`
    host, given by its name or as `host:port`, may be called without TLS."""
    if AMBIGUOUS.search(url) or "#" in url:
        raise AddressRefused("bad_url", "A callback URL must not contain spaces, backslashes or #.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused("bad_url", "The host or port of this URL is invalid.") from None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii():
        raise AddressRefused(
            "bad_url", "Percent-encode the path and query of the URL, as in %C3%A9."
        )
    if "@" in parts.netloc:
        raise AddressRefused(
            "bad_url", "Remove the user name and password from the URL: callbacks are signed."
        )
    if parts.scheme not in {"https", "http"}:
        raise AddressRefused("https_required", "Callbacks go to https:// addresses only.")
    host = _canonical_host(parts.hostname or "")
    if port is None:
        port = HTTPS_PORT if parts.scheme == "https" else 80
    is_open = is_loopback_name(host) or is_trusted(host, port, trusted)
    if parts.scheme == "http" and not is_open:
        raise AddressRefused("https_required", "Callbacks go to https:// addresses only.")
    return Destination(parts.scheme, host, _checked_port(port), target)


def _canonical_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    if is_loopback_name(host):
        return host
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()
        except UnicodeError:
            raise AddressRefused("bad_host", f"{host!r} is not a host name.") from None
    if ":" in host or ENDS_IN_NUMBER.fullmatch(host):
        raise AddressRefused("ip_address", "Callbacks go to names, not to IP addresses.")
    if host == "localhost":
        raise AddressRefused("bad_host", "localhost is for development only (WAKE_DEV=1).")
    if not HOST.fullmatch(host) or len(host) > HOST_LENGTH:
        raise AddressRefused("bad_host", f"{host!r} is not a host name.")
    return host


def _checked_port(port: int) -> int:
    if not 0 < port <= 65_535:
        raise AddressRefused("bad_port", "A port is a number between 1 and 65535.")
    return port


def is_trusted(host: str, port: int, trusted: Collection[str]) -> bool:
    return host in trusted or f"{host}:{port}" in trusted


def is_loopback_name(host: str) -> bool:
    return settings.DEVELOPMENT and host in LOOPBACK_NAMES
