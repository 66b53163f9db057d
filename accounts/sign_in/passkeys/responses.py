"""Limits the responses of browsers before they are parsed."""

from __future__ import annotations

from accounts.sign_in.passkeys.refusals import PasskeyRefused

LONGEST = 20_000  # in characters; attestations of TPMs, with their certificates, have 8,000


def check_length(response: str) -> None:
    """Raises PasskeyRefused. CBOR has numbers of any length, and parsing a decimal takes quadratic
    time."""
    if len(response) > LONGEST:
        raise PasskeyRefused
