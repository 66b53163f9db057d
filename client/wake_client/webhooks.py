"""Tells whether a callback comes from the server, before anything in it is believed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping

from wake_client.answers import Answer

PREFIX = "whsec_"
TOLERANCE_SECONDS = 300.0


class SignatureMismatch(Exception):
    """The callback is not what the server signed with this secret, or was sent too long ago."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance: float = TOLERANCE_SECONDS,
    at: float | None = None,
) -> Answer:
    """What the callback says. Raises SignatureMismatch, and NotWake for a body that is signed and
    no answer.

    `body` is the request's own bytes, before anything has parsed them; `secret` the whole
    `whsec_...`. Where the Standard Webhooks headers are there, they decide, and `tolerance` is by
    how many seconds their time may differ from `at` (Unix time, now by default). A server that
    sends only `X-Wake-Signature` is believed whenever it was sent: an answer is final, so one that
    comes again says nothing new.
    """
    secret = secret.strip()
    if not _is_there(secret):
        raise SignatureMismatch("There is no secret to verify with: whsec_ and base64.")
    given = {name.lower(): value for name, value in headers.items()}
    if "webhook-signature" in given:
        now = time.time() if at is None else at
        genuine = _fits_the_standard(body, given, secret, tolerance=tolerance, at=now)
    else:
        genuine = verify_signature(body, given.get("x-wake-signature", ""), secret)
    if not genuine:
        raise SignatureMismatch(SignatureMismatch.__doc__)
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    return Answer.read(said)


def verify_signature(body: bytes, signature: str, secret: str) -> bool:
    """Whether `X-Wake-Signature` fits (specification, "Webhook Signatures")."""
    if not _is_there(secret):
        return False
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return _same(expected, signature)


def _is_there(secret: str) -> bool:
    """Without one, which is what a variable that nobody has set holds, anybody could sign."""
    return bool(secret.removeprefix(PREFIX).strip())


def _fits_the_standard(
    body: bytes, headers: Mapping[str, str], secret: str, *, tolerance: float, at: float
) -> bool:
    """Whether one of the signatures does (standardwebhooks.com): there are two while a secret is
    being rotated."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        return False
    if abs(int(timestamp) - at) > tolerance:
        return False
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SignatureMismatch("The secret is not one: whsec_ and base64.") from error
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return any(_same(expected, one) for one in headers["webhook-signature"].split())


def _same(expected: str, given: str) -> bool:
    """In constant time; as bytes, because hmac refuses to compare text that is not ASCII."""
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogateescape"))
