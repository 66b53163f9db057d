"""Shows the request of a callback as it was sent, and its attempts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from pages.characters.invisible import reveal
from wake.callbacks import signatures
from wake.callbacks.allowlist import masked
from wake.callbacks.retries import MAX_ATTEMPTS
from wake.models import Callback, CallbackAttempt

MAX_SHOWN = 30
BODY_SHOWN = 20_000
SIGNATURE = re.compile(r"(?<=^sha256=).+|(?<=^v1,).+")
MASK = "••••••••"
NO_SECRET = "whsec_AAAA"  # noqa: S105 - its signatures are masked before they are shown


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """Shows a request. `is_cut` is True if only the beginning of the body is shown."""

    line: str
    headers: list[tuple[str, str]]
    body: str
    is_cut: bool


def request_of(callback: Callback, *, at: datetime) -> ShownRequest:
    """Returns the request, without the path of its URL. Every attempt sends the same request,
    except for the time and the signature."""
    body = bytes(callback.body).decode(errors="replace")
    return ShownRequest(
        line=f"POST {masked(callback.url)}",
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


def attempts_of(callback: Callback) -> list[CallbackAttempt]:
    """Returns the attempts, newest first. Index: attempts_of_a_callback."""
    return list(callback.attempts.order_by("-pk")[:MAX_SHOWN])


def number_of(attempt: CallbackAttempt) -> str:
    """Returns `3 of 10`, counted by the retry schedule."""
    return f"{attempt.number} of {MAX_ATTEMPTS}"


def _masked(name: str, value: str) -> str:
    return "time of the attempt" if name == "webhook-timestamp" else SIGNATURE.sub(MASK, value)
