"""Verifies the signatures of people's passkeys in a receipt (the server's docs/receipts.md,
Signatures; WebAuthn Level 3, 7.2). Needs the package `cryptography`."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from wake_client.digest import compact_json

TYPE = "wake-answer"
MEMBERS = {
    *("delivery_id", "digest", "edited_content_sha256", "feedback_sha256"),
    *("random", "status", "type"),
}
DEFAULT_PORTS = {"http": 80, "https": 443}
USER_PRESENT, USER_VERIFIED = 0x01, 0x04
# The length of a hash, the flags and the counter (WebAuthn Level 3, 6.1).
SHORTEST_DATA = 37


class NotSignedByPasskey(Exception):
    """A signature in the receipt is not one of this answer. The message says why."""


def signers(claims: Mapping[str, Any]) -> list[str]:
    """Checks each signature in the claims of a verified receipt. Returns the SHA-256 of each public
    key. Returns an empty list if the receipt discloses fewer signatures than the answer needs, or
    none. Raises NotSignedByPasskey."""
    signatures = claims.get("signatures")
    if not isinstance(signatures, list):
        return []
    found = [_checked(each, claims) for each in signatures]
    if len(set(found)) != len(found):
        raise NotSignedByPasskey("One passkey signed twice.")
    return found if len(found) >= _needed(claims) else []


def check_signers(found: Collection[str], known: Collection[str]) -> None:
    """Raises NotSignedByPasskey unless there are signers, and the reader knows each of them."""
    if not found:
        raise NotSignedByPasskey(
            "The receipt has no signature of a passkey, or not enough of them."
        )
    if not set(found) <= {each.lower() for each in known}:
        raise NotSignedByPasskey("A passkey that you did not name signed the answer.")


def _needed(claims: Mapping[str, Any]) -> int:
    needed = claims["quorum"].get("needed") if _is_of_votes(claims) else 1
    return needed if isinstance(needed, int) else 1


def _is_of_votes(claims: Mapping[str, Any]) -> bool:
    """Returns whether several people approved. One person alone can reject or redirect, also if an
    approval needs several people."""
    return isinstance(claims.get("quorum"), dict) and claims.get("status") == "approved"


def _checked(signature: Any, claims: Mapping[str, Any]) -> str:
    """Checks one signature, and returns the SHA-256 of its public key."""
    try:
        statement = signature["statement"]
        public_key, data = _bytes(signature["public_key"]), _bytes(signature["authenticator_data"])
        client_data = _bytes(signature["client_data_json"])
        said = json.loads(client_data)
        value = _bytes(signature["signature"])
        challenge, origin = said["challenge"], said["origin"]
        _check_statement(statement, claims)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise NotSignedByPasskey("A signature of a passkey is damaged.") from error
    expected = hashlib.sha256(compact_json(dict(sorted(statement.items()))).encode()).digest()
    if said.get("type") != "webauthn.get" or challenge != _text(expected):
        raise NotSignedByPasskey("A passkey signed something else.")
    own, host = _origin(str(claims.get("iss")))
    if origin != own or said.get("crossOrigin") not in (None, False):
        raise NotSignedByPasskey("A passkey signed on the page of another site.")
    if len(data) < SHORTEST_DATA or data[:32] != hashlib.sha256(host.encode()).digest():
        raise NotSignedByPasskey("The passkey belongs to another site.")
    if not (data[32] & USER_PRESENT and data[32] & USER_VERIFIED):
        raise NotSignedByPasskey("The device did not check the person.")
    verified = _verified(public_key, value, data + hashlib.sha256(client_data).digest())
    return hashlib.sha256(verified).hexdigest()


def _check_statement(statement: Mapping[str, Any], claims: Mapping[str, Any]) -> None:
    """Compares what was signed with the receipt. The receipt of a delivery of version 0.2 has no
    digest, and its signature has one. Each of several people who approve signs their own
    message."""
    if set(statement) != MEMBERS or statement["type"] != TYPE:
        raise NotSignedByPasskey("A passkey signed something that is no answer.")
    names = ["delivery_id", "status"]
    if claims.get("digest") is not None:
        names.append("digest")
    if not _is_of_votes(claims):
        names += [name for name in ("edited_content_sha256", "feedback_sha256") if name in claims]
    for name in names:
        if statement[name] != claims.get(name):
            raise NotSignedByPasskey(f"A passkey signed another {name}.")


def _verified(public_key: bytes, signature: bytes, signed: bytes) -> bytes:
    """Checks a signature of ES256, RS256 or Ed25519, which are those that the server accepts.
    Returns the key in its usual form. A key can be written in several forms, and one passkey must
    not count as two."""
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            PublicFormat,
            load_der_public_key,
        )
    except ImportError as error:
        raise ValueError("This needs cryptography: pip install 'wake-client[verify]'.") from error
    try:
        key = load_der_public_key(public_key)
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), SHA256())
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, signed)
        else:
            raise NotSignedByPasskey("The key of a passkey has an unknown type.")
    except (InvalidSignature, UnsupportedAlgorithm, ValueError) as error:
        raise NotSignedByPasskey("A signature is not that of its passkey.") from error
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _origin(issuer: str) -> tuple[str, str]:
    """Returns the origin of the server in the form of browsers (RFC 6454, 6.2), and its host."""
    url = urlsplit(issuer)
    try:
        port = url.port if url.port != DEFAULT_PORTS.get(url.scheme) else None
    except ValueError as error:
        raise NotSignedByPasskey("The receipt names no server.") from error
    host = url.hostname or ""
    return f"{url.scheme}://{host}{f':{port}' if port else ''}", host


def _bytes(encoded: str) -> bytes:
    """Reads base64url without padding. Raises ValueError."""
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
