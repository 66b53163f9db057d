"""Signs callbacks and notifications as the specification and Standard Webhooks require."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"


class NoSecret(Exception):
    """This agent has no signing secret, and callbacks are never sent unsigned."""


def sign(body: bytes, *, secrets: Sequence[str], message_id: str, at: datetime) -> dict[str, str]:
    """Returns the headers that prove who sent `body`. `secrets` are the secrets in use, oldest
    first.

    `X-Wake-Signature` is made with the whole text of the oldest secret (spec, "Webhook
    Signatures"). `webhook-signature` (standardwebhooks.com) has one signature for each secret, made
    with the bytes that its text encodes. The signature covers the id, the time and the body, so
    that a receiver can refuse a replay.
    """
    if not secrets:
        raise NoSecret(NoSecret.__doc__)
    standard = standard_headers(body, secrets=secrets, message_id=message_id, at=at)
    return {"X-Wake-Signature": _plain(body, secrets[0]), **standard}


def standard_headers(
    body: bytes, *, secrets: Sequence[str], message_id: str, at: datetime
) -> dict[str, str]:
    """Returns only the headers of Standard Webhooks, which notifications have."""
    timestamp = str(int(at.timestamp()))
    standard = (_standard(body, secret, message_id, timestamp) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(standard),
    }


def _plain(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


def _standard(body: bytes, secret: str, message_id: str, timestamp: str) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
