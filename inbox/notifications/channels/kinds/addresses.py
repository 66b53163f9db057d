"""Checks the addresses that people type for their channels, and masks them."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings

from inbox.notifications.channels.kinds.kind import BadAddress
from wake.callbacks.allowlist import AddressRefused, Destination, is_trusted, parse

LONGEST_URL = 2_000
SHOWN = 4
# For a shorter path, even four characters would reveal too much.
LONG_PATH = 20
WORDS = {
    "bad_url": "Enter a URL without spaces, backslashes, # or a user name.",
    "https_required": "Enter a URL that begins with https://.",
    "ip_address": "Enter a URL with a host name, not with an IP address.",
}


def check_url(text: str, *, hosts: Collection[str] = ()) -> str:
    """Returns the URL. If there are `hosts`, the URL's host must be one of these hosts, a subdomain
    of such a host, or a host that the operator trusts. Raises BadAddress."""
    url = text.strip()
    if len(url) > LONGEST_URL:
        raise BadAddress(f"A URL has at most {LONGEST_URL} characters.")
    try:
        found = destination(url)
    except AddressRefused as reason:
        raise BadAddress(WORDS.get(reason.code, str(reason))) from None
    is_expected = not hosts or any(f".{found.host}".endswith(f".{host}") for host in hosts)
    if not is_expected and not is_trusted(found.host, found.port, trusted()):
        raise BadAddress(f"Enter a URL of {' or '.join(hosts)}.")
    return url


def destination(url: str) -> Destination:
    """Parses an address, and checks its host. Raises AddressRefused."""
    return parse(url, trusted=trusted())


def mask_url(url: str) -> str:
    """Returns `hooks.slack.com/…4Fx2`, because anyone who knows the path can post there."""
    found = destination(url)
    return f"{found.name}/…{found.target[-SHOWN:] if len(found.target) > LONG_PATH else ''}"


def trusted() -> Collection[str]:
    hosts: Collection[str] = settings.WAKE_NOTIFICATION_HOSTS
    return hosts
