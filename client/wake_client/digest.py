"""Computes the digest of a delivery from what was sent (the server's docs/protocol.md, Digest). So
a program notices an approval of other content before it acts on the approval."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from wake_client.answers import Answer, Receipt
from wake_client.errors import ContentMismatch

AS_SENT = ("type", "headline", "summary", "assumption", "timeout_seconds")


def compact_json(value: Any) -> str:
    """Returns the JSON text that this client sends. For the members of a digest, this text is the
    form of RFC 8785: sorted by ASCII names, texts escaped as little as possible, and integers
    only."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def check_receipt(
    receipt: Receipt, sent: Mapping[str, Any], *, files: Sequence[str] | None
) -> None:
    """Raises ContentMismatch if the server stored something other than what was `sent`. `files` has
    the SHA-256 of each file that the content names; with None, the receipt's list is used."""
    if receipt.digest != content_digest(sent, receipt, files=files):
        raise ContentMismatch(
            "content_mismatch",
            f"The digest of delivery {receipt.delivery_id} is not that of what was sent. "
            "Do not act on its answer.",
        )


def check_answer(answer: Answer, digest: str | None) -> Answer:
    """Returns the answer. Raises ContentMismatch if the answer is to content with another digest
    than `digest`. A `digest` of None compares nothing."""
    if digest is not None and answer.is_answered and answer.digest != digest:
        raise ContentMismatch(
            "content_mismatch",
            f"The answer to delivery {answer.delivery_id} is not for what was sent. "
            "Do not act on it.",
        )
    return answer


def named_blobs(details: Any) -> list[str]:
    """Returns the ids of the blobs that the blocks name, each once, in their order."""
    match details:
        case {"wake_blocks": 1, "blocks": [*blocks]}:
            named = [_blob_id(block) for block in blocks]
            return list(dict.fromkeys(id for id in named if id))
    return []


def _blob_id(block: Any) -> str | None:
    match block:
        case {"type": "image" | "file", "blob": str(id)}:
            return id
    return None


def content_digest(
    sent: Mapping[str, Any], receipt: Receipt, *, files: Sequence[str] | None = None
) -> str:
    """Returns the digest of a delivery, in hexadecimal. `sent` has the fields of the delivery, with
    its `agent_id`. `receipt` has the nonce, and what the server decided. `files` has the SHA-256 of
    each file that the details name; with None, the receipt's list is used.

    So a service computes the digest of the action that it is about to do. The server accepts no
    claim with another digest, so a wrong receipt claims nothing.
    """
    details, earlier = sent.get("details"), sent.get("supersedes")
    content = {
        **{name: sent.get(name) for name in AS_SENT},
        "agent_id": unicodedata.normalize("NFC", sent["agent_id"]),
        "details": None if details is None else compact_json(details),
        "files": list(receipt.files if files is None else files),
        "irreversible": bool(sent.get("irreversible")),
        "nonce": receipt.nonce,
        "on_timeout": receipt.on_timeout or sent.get("on_timeout"),
        "quorum": receipt.quorum,
        "supersedes": None if earlier is None else str(UUID(earlier)),
    }
    canonical = compact_json(dict(sorted(content.items())))
    return hashlib.sha256(canonical.encode()).hexdigest()
