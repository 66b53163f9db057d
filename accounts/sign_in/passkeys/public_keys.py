"""Writes the public keys of passkeys in a form that common libraries read."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from webauthn.helpers import decode_credential_public_key, decoded_public_key_to_cryptography

from accounts.models import Passkey


def as_der(passkey: Passkey) -> bytes:
    """Returns the key as a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7). The type of the key decides
    the algorithm, because Wake accepts only ES256, RS256 and Ed25519
    (accounts/sign_in/passkeys/registration.py)."""
    decoded = decode_credential_public_key(bytes(passkey.public_key))
    key = decoded_public_key_to_cryptography(decoded)
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def fingerprint(passkey: Passkey) -> str:
    """Returns the SHA-256 of the key. People compare this fingerprint with a receipt."""
    return hashlib.sha256(as_der(passkey)).hexdigest()
