"""Computes the digest of a delivery (docs/protocol.md, Digest): SHA-256 over its content in the
JSON Canonicalization Scheme (RFC 8785)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from wake.models import Delivery

# The fields of a delivery that are no part of its digest, and why.
LEFT_OUT = {
    "provider": "names the software that the agent runs on, and asks for nothing",
    "callback_webhook": "says where the answer is sent",
    "thread": "says which deliveries belong together",
    "priority": "orders the list",
    "claim_within_seconds": "limits what the agent may do, and the server holds to it",
    "digest": "asks for the digest",
    "receipt": "asks for the receipt with the callback",
    "extensions": "are no part of the protocol; JSON of other people's numbers has several forms",
}
# msgspec writes numbers, true, false and null as RFC 8785 wants, and escapes texts in the same way.
# Every name below is ASCII, so msgspec also sorts the names in the order of the RFC.
_encoder = msgspec.json.Encoder(order="sorted")


def new_nonce() -> str:
    """Returns 16 random bytes in base64url. Without them, a digest would confirm a guess at content
    that was erased."""
    return secrets.token_urlsafe(16)


def content_digest(delivery: Delivery, *, files: Sequence[str]) -> str:
    """Returns the digest in lower-case hexadecimal. `files` has the SHA-256 of each file that the
    details name, in the order of the details."""
    return hashlib.sha256(_encoder.encode(content_of(delivery, files=files))).hexdigest()


def content_of(delivery: Delivery, *, files: Sequence[str]) -> dict[str, Any]:
    """Returns the object whose canonical form is hashed. A field that was not sent is null.
    `on_timeout` and `quorum` are the values in force, which a rule of the team may have changed."""
    return {
        "agent_id": delivery.claimed_agent_id,
        "assumption": delivery.assumption or None,
        "details": delivery.details_json,
        "files": list(files),
        "headline": delivery.headline,
        "irreversible": delivery.irreversible,
        "nonce": delivery.nonce,
        "on_timeout": delivery.on_timeout or None,
        "quorum": delivery.quorum,
        "summary": delivery.summary,
        "supersedes": str(delivery.supersedes_id) if delivery.supersedes_id else None,
        "timeout_seconds": delivery.timeout_seconds,
        "type": delivery.type,
    }
