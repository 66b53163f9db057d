"""Decides at which addresses browsers can use passkeys.

A passkey belongs to a host name, the relying party's id (WebAuthn Level 3, 5.1.2), which is the
host of WAKE_ORIGIN. Browsers accept no IP address, so in development the id is `localhost`.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

LOCALHOST = "localhost"
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """Names the host of passkeys, and the origin of the pages that may use them."""

    id: str
    origin: str


def relying_party(host: str) -> RelyingParty | None:
    """Returns the relying party for pages at this host and port, or None if browsers cannot use
    passkeys there."""
    name = urlsplit(f"//{host}").hostname
    if settings.DEVELOPMENT and name == LOCALHOST:
        return RelyingParty(LOCALHOST, f"http://{host}")
    own = urlsplit(settings.WAKE_ORIGIN)
    if own.hostname is None or own.hostname != name or _is_ip_address(name):
        return None
    return RelyingParty(name, _origin(own))


def where_they_work(host: str) -> str:
    """Returns the address at which people can use passkeys instead, or an empty text if there is
    none."""
    own = urlsplit(settings.WAKE_ORIGIN)
    if own.hostname and not _is_ip_address(own.hostname):
        return _origin(own)
    port = urlsplit(f"//{host}").port
    return f"http://{LOCALHOST}{f':{port}' if port else ''}" if settings.DEVELOPMENT else ""


def _origin(url: SplitResult) -> str:
    """Returns the origin in the form of browsers, without the default port (RFC 6454, 6.2)."""
    port = url.port if url.port != DEFAULT_PORTS.get(url.scheme) else None
    return f"{url.scheme}://{url.hostname}{f':{port}' if port else ''}"


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
