"""Verifies that a request comes from Slack (docs.slack.dev, Verifying requests from Slack)."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime

WINDOW_SECONDS = 300
LONGEST_TIMESTAMP = 12


class NotFromSlack(Exception):
    """The signature is missing, wrong or older than five minutes."""


def sign(body: bytes, *, timestamp: str, secret: str) -> str:
    """Returns the v0 signature of a body."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def verify(body: bytes, *, timestamp: str, signature: str, secret: str, at: datetime) -> None:
    """Raises NotFromSlack unless the body has a new, valid signature."""
    is_number = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= LONGEST_TIMESTAMP
    if not secret or not is_number or abs(at.timestamp() - int(timestamp)) > WINDOW_SECONDS:
        raise NotFromSlack(NotFromSlack.__doc__)
    expected = sign(body, timestamp=timestamp, secret=secret)
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        raise NotFromSlack(NotFromSlack.__doc__)
