"""Where a link that an agent sent really leads."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

ABSOLUTE = re.compile(r"(?:https?://[^/?#]|mailto:[^/])", re.IGNORECASE)
REL = "noopener noreferrer nofollow ugc"
_WHOLE_URL = re.compile(r"https?://[^\s<>\"'`\\]{3,2000}", re.IGNORECASE | re.ASCII)


def is_url(text: str) -> bool:
    """The text is one web address and nothing else."""
    return bool(_WHOLE_URL.fullmatch(text))


def hidden_host(href: str, words: str) -> str:
    """The host, or the address of a mail, where the words of the link do not say it; else empty."""
    if href.lower().startswith("mailto:"):
        address = href[7:].partition("?")[0]
        return "" if words.strip() == address else address
    host = _host(href)
    says_it = words.strip().lower() == host or (
        is_url(words.strip()) and _host(words.strip()) == host
    )
    return "" if says_it and "@" not in urlsplit(href).netloc else host


def _host(url: str) -> str:
    """In ASCII (`xn--...`), because letters of other scripts can look like ours."""
    try:
        host = (urlsplit(url).hostname or "").lower()
        return host if host.isascii() else host.encode("idna").decode()
    except ValueError:
        return "a host that cannot be read"
