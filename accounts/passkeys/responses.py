"""Limits the responses of browsers before they are parsed."""

from __future__ import annotations

from accounts.passkeys.refusals import PasskeyRefused

LONGEST = 20_000  # characters; attestations of TPMs, with their certificates, have 8,000


def check_length(response: str) -> None:
    """Raises PasskeyRefused. CBOR has numbers of any length, and parsing a decimal takes the square
    of its length."""
    if len(response) > LONGEST:
        raise PasskeyRefused
