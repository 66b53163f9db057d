"""Signs figures of the audit with the encryption keys, which are not in the database."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

from django.conf import settings


def sign(text: str) -> str:
    """Returns the signature by the newest key."""
    return next(_signatures(text))


def is_signed(text: str, signature: str) -> bool:
    """Returns whether any of the keys made this signature."""
    return any(hmac.compare_digest(signature, ours) for ours in _signatures(text))


def _signatures(text: str) -> Iterator[str]:
    for key in settings.WAKE_ENCRYPTION_KEYS:
        derived = hashlib.sha256(f"audit totals {key}".encode()).digest()
        yield hmac.new(derived, text.encode(), "sha256").hexdigest()
