"""Signs callbacks, in the specification's way and in that of Standard Webhooks, and verifies
both."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

PREFIX = "whsec_"
TOLERANCE = timedelta(minutes=5)


class NoSecret(Exception):
    """This agent has no signing secret, and callbacks never leave unsigned."""


def sign(body: bytes, *, secrets: Sequence[str], message_id: str, at: datetime) -> dict[str, str]:
    """The headers that prove where `body` comes from; `secrets` are those in use, oldest first.

    `X-Wake-Signature` is keyed with the whole text of the oldest (spec, "Webhook Signatures").
    `webhook-signature` (standardwebhooks.com) carries one for each, keyed with the bytes that the
    text encodes, over id, time and body, so that a receiver can refuse what is replayed.
    """
    if not secrets:
        raise NoSecret(NoSecret.__doc__)
    timestamp = str(int(at.timestamp()))
    each = (_standard(body, secret, message_id, timestamp) for secret in secrets)
    return {
        "X-Wake-Signature": _plain(body, secrets[0]),
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(each),
    }


def verify(body: bytes, signature: str, *, secret: str) -> bool:
    """Whether `X-Wake-Signature` fits the body."""
    return _same(_plain(body, secret), signature)


def verify_standard(body: bytes, headers: Mapping[str, str], *, secret: str, at: datetime) -> bool:
    """Whether one of the Standard Webhooks signatures fits, and is no older or newer than five
    minutes."""
    timestamp = headers["webhook-timestamp"]
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs(int(timestamp) - at.timestamp()) > TOLERANCE.total_seconds():
        return False
    expected = _standard(body, secret, headers["webhook-id"], timestamp)
    return any(_same(expected, given) for given in headers["webhook-signature"].split())


def _plain(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _standard(body: bytes, secret: str, message_id: str, timestamp: str) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def _same(expected: str, given: str) -> bool:
    """In constant time; as bytes, because hmac refuses to compare text that is not ASCII."""
    return hmac.compare_digest(expected.encode(), given.encode())
