"""Binds an answer to the passkey of the person who gives it (docs/receipts.md, Signatures): the
statement that the passkey signs, and what is stored of the signature
(docs/decisions/0078-a-person-signs-an-answer.md)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from wake.models import Delivery

TYPE = "wake-answer"
Statement = Mapping[str, str | None]
# The names and values are ASCII texts and nulls, so this is the form of RFC 8785
# (wake/proof/digest.py).
_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Signature:
    """Holds what a passkey signed, and its checked signature. `passkey` is the id of the row, and
    `public_key` is a SubjectPublicKeyInfo in DER (RFC 5280). The other bytes are an
    AuthenticatorAssertionResponse (WebAuthn Level 3, 5.2.2)."""

    passkey: UUID
    random: bytes
    statement: Statement
    credential_id: bytes
    public_key: bytes
    authenticator_data: bytes
    client_data_json: bytes
    signature: bytes

    def as_json(self) -> str:
        """Returns the form that is stored, and that receipts disclose."""
        return json.dumps(
            {
                "statement": self.statement,
                "credential_id": as_text(self.credential_id),
                "public_key": as_text(self.public_key),
                "authenticator_data": as_text(self.authenticator_data),
                "client_data_json": as_text(self.client_data_json),
                "signature": as_text(self.signature),
            }
        )


def statement_of(
    delivery: Delivery, *, status: str, feedback: str, edited_json: str | None, random: bytes
) -> Statement:
    """Returns what a person signs: their answer, the content that it is about, and random bytes of
    this server, so that a signature is good for one answer. `feedback` is the text that is stored,
    without spaces around it. A delivery of version 0.2 has no digest with a nonce, so its hash of
    that version is signed."""
    return {
        "delivery_id": str(delivery.pk),
        "digest": delivery.content_hash,
        "edited_content_sha256": text_hash(edited_json),
        "feedback_sha256": text_hash(feedback or None),
        "random": as_text(random),
        "status": status,
        "type": TYPE,
    }


def challenge_of(statement: Statement) -> bytes:
    """Returns the WebAuthn challenge: SHA-256 of the statement in canonical JSON (RFC 8785)."""
    return hashlib.sha256(_encoder.encode(statement)).digest()


def text_hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def as_text(content: bytes) -> str:
    """Returns base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def origin_of(signature: Mapping[str, Any]) -> str:
    """Returns the address of the page on which the person signed, from a signature as it is stored.
    Returns an empty text if the signature does not say it."""
    text = str(signature.get("client_data_json", ""))
    if not text:
        return ""
    padded = text + "=" * (-len(text) % 4)
    return str(json.loads(base64.urlsafe_b64decode(padded))["origin"])
