"""Verifies that a callback comes from the server before its answer is read."""

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
    """The server did not sign this callback with this secret, or sent it too long ago."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance: float = TOLERANCE_SECONDS,
    at: float | None = None,
) -> Answer:
    """Returns the answer in a callback. Raises SignatureMismatch, or NotWake if the body is signed
    but is not an answer.

    `body` is the raw body of the request, before it is parsed. `secret` is the whole `whsec_...`.
    If the Standard Webhooks headers are present, only these headers are checked. Their time may
    differ from `at` (Unix time, now by default) by `tolerance` seconds. A callback with only
    `X-Wake-Signature` has no signed time and may have any age. An old callback does no harm,
    because an answer is final.
    """
    secret = secret.strip()
    if _is_empty(secret):
        raise SignatureMismatch("There is no secret to verify with: whsec_ and base64.")
    headers = {name.lower(): value for name, value in headers.items()}
    if "webhook-signature" in headers:
        now = time.time() if at is None else at
        is_genuine = _fits_standard_webhooks(body, headers, secret, tolerance=tolerance, at=now)
    else:
        is_genuine = verify_signature(body, headers.get("x-wake-signature", ""), secret)
    if not is_genuine:
        raise SignatureMismatch(SignatureMismatch.__doc__)
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    return Answer.read(answer)


def verify_signature(body: bytes, signature: str, secret: str) -> bool:
    """Returns whether `X-Wake-Signature` matches (specification, "Webhook Signatures")."""
    if _is_empty(secret):
        return False
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return _equal(expected, signature)


def _is_empty(secret: str) -> bool:
    """Returns whether the secret is empty, as an unset variable is. Anyone could sign with an empty
    secret."""
    return not secret.removeprefix(PREFIX).strip()


def _fits_standard_webhooks(
    body: bytes, headers: Mapping[str, str], secret: str, *, tolerance: float, at: float
) -> bool:
    """Returns whether one of the signatures matches (standardwebhooks.com). There are two while a
    secret is being rotated."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        return False
    if abs(int(timestamp) - at) > tolerance:
        return False
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SignatureMismatch("The secret is not valid: it is whsec_ and base64.") from error
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return any(_equal(expected, each) for each in headers["webhook-signature"].split())


def _equal(expected: str, signature: str) -> bool:
    """Compares in constant time, and as bytes, because hmac refuses text that is not ASCII."""
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape"))
