"""What a callback looked like when it left: its request as people may read it, try by try."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from inbox.invisible import reveal
from wake import signatures
from wake.models import Callback, CallbackAttempt
from wake.retries import TRIES

MOST_TRIES = 30
BODY_SHOWN = 20_000
SIGNATURE = re.compile(r"(?<=^sha256=).+|(?<=^v1,).+")
MASK = "••••••••"
NO_SECRET = "whsec_AAAA"  # noqa: S105 - whatever it signs is masked before anybody sees it


@dataclass(frozen=True, slots=True)
class Request:
    """`is_cut` where the body is longer than what is shown of it."""

    line: str
    headers: list[tuple[str, str]]
    body: str
    is_cut: bool


def request_of(callback: Callback, *, at: datetime) -> Request:
    """The same at every try, but for the time and what is signed over it."""
    url = urlsplit(callback.url)
    body = bytes(callback.body).decode(errors="replace")
    path = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
    return Request(
        line=reveal(f"POST {path}"),
        headers=[("Host", callback.host), *_headers(callback, at=at)],
        body=reveal(body[:BODY_SHOWN]),
        is_cut=len(body) > BODY_SHOWN,
    )


def _headers(callback: Callback, *, at: datetime) -> list[tuple[str, str]]:
    if callback.response is None:
        own = callback.headers.items()
        return [(name, value if name == "Content-Type" else MASK) for name, value in own]
    signed = signatures.sign(b"", secrets=[NO_SECRET], message_id=str(callback.pk), at=at)
    return [
        ("Content-Type", "application/json"),
        ("X-Wake-Delivery-Id", str(callback.response.delivery_id)),
        *((name, _masked(name, value)) for name, value in signed.items()),
    ]


def tries_of(callback: Callback) -> list[CallbackAttempt]:
    """Newest first. Index: attempts_of_a_callback."""
    return list(callback.attempts.order_by("-pk")[:MOST_TRIES])


def number_of(attempt: CallbackAttempt) -> str:
    """`3 of 10`, as the schedule goes."""
    return f"{attempt.number} of {TRIES}"


def _masked(name: str, value: str) -> str:
    return "the second of the try" if name == "webhook-timestamp" else SIGNATURE.sub(MASK, value)
