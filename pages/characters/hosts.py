"""Writes host names in ASCII, as a browser opens them."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from socket import inet_aton, inet_ntoa

import idna

UNREADABLE = "a host that cannot be read"
# These are DNS limits (RFC 1035, 2.3.4) for names in ASCII. Names are checked before the conversion
# to ASCII, which never makes a name shorter.
LONGEST_HOST, LONGEST_LABEL = 253, 63

# A browser reads a host with such an ending as an IPv4 address: 0x7f.1 is 127.0.0.1.
_IS_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$").search


def ascii_host(host: str) -> str:
    """Returns the host that a browser opens (WHATWG URL, UTS 46 without transitional processing),
    in ASCII (`xn--...`), because letters of other scripts can look like ours."""
    try:
        if ":" in host:  # a browser accepts no zone, as in fe80::1%eth0
            return UNREADABLE if "%" in host else str(IPv6Address(host))
        host = idna.uts46_remap(host, std3_rules=False, transitional=False)
        labels = host.split(".")
        if len(host.rstrip(".")) > LONGEST_HOST or len(max(labels, key=len)) > LONGEST_LABEL:
            # No browser finds a host of this length, and Punycode takes quadratic time.
            return UNREADABLE
        host = ".".join(label if label.isascii() else _punycode(label) for label in labels)
        host = inet_ntoa(inet_aton(host.rstrip("."))) if _IS_NUMBER(host) else host
    except (ValueError, OSError):
        return UNREADABLE
    return host or UNREADABLE


def _punycode(label: str) -> str:
    return f"xn--{label.encode('punycode').decode()}"
