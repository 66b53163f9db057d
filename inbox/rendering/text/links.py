"""Finds the real host of an agent's link."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from pages.characters.hosts import UNREADABLE, ascii_host

ABSOLUTE = re.compile(r"(?:https?://[^/?#]|mailto:[^/])", re.IGNORECASE)
_IS_WEB = re.compile(r"https?://[^/?#]", re.IGNORECASE)
REL = "noopener noreferrer nofollow ugc"
# After `https:///` a browser takes the next part as the host, but urlsplit takes none.
_WHOLE_URL = re.compile(r"https?://[^\s<>\"'`\\/?#][^\s<>\"'`\\]{2,1999}", re.IGNORECASE | re.ASCII)


def is_url(text: str) -> bool:
    """Returns whether the text is exactly one web address."""
    return bool(_WHOLE_URL.fullmatch(text))


def hidden_address(address: str, words: str) -> list[str]:
    """Returns the address of a link, unless the words of the link are the address. Adds the host
    that a browser opens, if the address seems to have another host."""
    is_shown = words.strip() == address
    host = hidden_host(address, address) if _IS_WEB.match(address) else ""
    return [part for part in ("" if is_shown else address, host) if part]


def hidden_host(href: str, words: str) -> str:
    """Returns the link's host or mail address if its text does not show it; otherwise an empty
    text."""
    if href.lower().startswith("mailto:"):
        address = href[7:].partition("?")[0]
        return "" if words.strip() == address else address
    host = _host(href)
    words = words.strip()
    is_named = (_named(words) if is_url(words) else words.lower()) == host
    return "" if is_named and "@" not in _before_the_path(href) + _before_the_path(words) else host


def _before_the_path(url: str) -> str:
    """Returns scheme, user name, host and port. In `https://good.com@evil.org`, `good.com` is only
    the user name."""
    return re.split(r"[/?#]", url.partition("://")[2] or url, maxsplit=1)[0]


def _named(url: str) -> str:
    """Returns the host as it is written, even if it looks like another one."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _host(url: str) -> str:
    try:
        return ascii_host(unquote(urlsplit(url).hostname or "", errors="strict"))
    except ValueError:
        return UNREADABLE
