"""Finds the host that a link of an agent really leads to."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from socket import inet_aton, inet_ntoa
from urllib.parse import unquote, urlsplit

import idna

ABSOLUTE = re.compile(r"(?:https?://[^/?#]|mailto:[^/])", re.IGNORECASE)
REL = "noopener noreferrer nofollow ugc"
UNREADABLE = "a host that cannot be read"
# Of DNS (RFC 1035, 2.3.4); in letters, because a name is never shorter in ASCII.
LONGEST_HOST, LONGEST_LABEL = 253, 63
# After `https:///` a browser takes the next part as the host, and urlsplit takes none.
_WHOLE_URL = re.compile(r"https?://[^\s<>\"'`\\/?#][^\s<>\"'`\\]{2,1999}", re.IGNORECASE | re.ASCII)

# A browser reads such a host as an IPv4 address: 0x7f.1 is 127.0.0.1.
_IS_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$").search


def is_url(text: str) -> bool:
    """Returns whether the text is one web address and nothing else."""
    return bool(_WHOLE_URL.fullmatch(text))


def hidden_host(href: str, words: str) -> str:
    """Returns the link's host or mail address if its text does not show it; else an empty text."""
    if href.lower().startswith("mailto:"):
        address = href[7:].partition("?")[0]
        return "" if words.strip() == address else address
    host = _host(href)
    words = words.strip()
    is_named = (_named(words) if is_url(words) else words.lower()) == host
    return "" if is_named and "@" not in _before_the_path(href) + _before_the_path(words) else host


def _before_the_path(url: str) -> str:
    """Returns scheme, user name, host and port: `good.com` is only the user name in
    `https://good.com@evil.org`."""
    return re.split(r"[/?#]", url.partition("://")[2] or url, maxsplit=1)[0]


def _named(url: str) -> str:
    """Returns the host as it is written, which may look like another one."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _host(url: str) -> str:
    """Returns the host that a browser opens (WHATWG URL, UTS 46 without transitional processing),
    in ASCII (`xn--...`), because letters of other scripts can look like ours."""
    try:
        host = unquote(urlsplit(url).hostname or "", errors="strict")
        if ":" in host:  # a browser takes no zone, as in fe80::1%eth0
            return UNREADABLE if "%" in host else str(IPv6Address(host))
        host = idna.uts46_remap(host, std3_rules=False, transitional=False)
        labels = host.split(".")
        if len(host.rstrip(".")) > LONGEST_HOST or len(max(labels, key=len)) > LONGEST_LABEL:
            return UNREADABLE  # no browser finds it, and Punycode takes quadratic time
        host = ".".join(label if label.isascii() else _punycode(label) for label in labels)
        host = inet_ntoa(inet_aton(host.rstrip("."))) if _IS_NUMBER(host) else host
    except (ValueError, OSError):
        return UNREADABLE
    return host or UNREADABLE


def _punycode(label: str) -> str:
    return f"xn--{label.encode('punycode').decode()}"
