"""Computes the six digits of an authenticator app: TOTP (RFC 6238) with SHA-1 and steps of half a
minute. Every app supports these settings."""

from __future__ import annotations

import base64
import hmac
import secrets
from datetime import datetime
from urllib.parse import quote, urlencode

STEP_SECONDS = 30
DIGITS = 6
SECRET_BYTES = 20  # as long as the hash (RFC 4226, 4)


def new_secret() -> str:
    """Returns a secret in base32, as apps expect it: 32 letters and digits, no padding."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def code_at(secret: str, step: int) -> str:
    """Returns the code of that step since 1970 (RFC 4226, 5.3)."""
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 0xF
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def step_at(at: datetime) -> int:
    return int(at.timestamp()) // STEP_SECONDS


def fitting_step(secret: str, code: str, *, at: datetime, after: int) -> int | None:
    """Returns the step of this code. Accepts the present, the previous and the next step, because
    clocks differ (RFC 6238, 5.2). Steps up to `after` are not accepted."""
    now = step_at(at)
    for step in range(max(now - 1, after + 1), now + 2):
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode()):
            return step
    return None


def uri(secret: str, *, email: str, issuer: str) -> str:
    """Returns the content of the QR code (Google's Key URI Format)."""
    query = urlencode({"secret": secret, "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{quote(issuer)}:{quote(email)}?{query}"
