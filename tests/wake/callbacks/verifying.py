"""Checks signatures with the code of the client, as receivers do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from wake_client import NotWake, webhooks


def verify(body: bytes, signature: str, *, secret: str) -> bool:
    """Returns whether `X-Wake-Signature` fits the body."""
    return webhooks.verify_signature(body, signature, secret)


def verify_standard(body: bytes, headers: Mapping[str, str], *, secret: str, at: datetime) -> bool:
    """Returns whether the headers of Standard Webhooks fit. The body need not be an answer."""
    try:
        webhooks.verify(body, headers, secret, at=at.timestamp())
    except webhooks.SignatureMismatch:
        return False
    except NotWake:
        return True
    return True
