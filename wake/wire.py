"""Defines what this server sends in polls, sweeps and callbacks, in the specification's order.

Times are RFC 3339 in UTC with `Z`, to the microsecond. The OpenAPI and JSON Schema documents are
made from these.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Raw

Status = Literal["pending", "approved", "rejected", "redirected"]
Content = Annotated[Raw, Meta(extra_json_schema={"type": ["object", "string", "null"]})]
Time = Annotated[datetime, Meta(tz=True)]


class Receipt(msgspec.Struct):
    """Answers POST /wake/v1/deliver with 201 (spec, "POST /wake/v1/deliver"). `on_timeout` is
    present only if the agent has to wait although it did not say so: a rule of the team asks for
    it, or the delivery is irreversible (docs/protocol.md, Timeouts)."""

    delivery_id: UUID
    status: Literal["received"]
    created_at: Time
    on_timeout: Literal["hold"] | msgspec.UnsetType = msgspec.UNSET
    # Present only if the delivery asks for its digest (docs/protocol.md, Digest). `quorum` is
    # present if several people have to approve, `files` if the details name any, and
    # `claim_within_seconds` if the time for a claim is limited.
    digest: str | msgspec.UnsetType = msgspec.UNSET
    nonce: str | msgspec.UnsetType = msgspec.UNSET
    quorum: int | msgspec.UnsetType = msgspec.UNSET
    files: list[str] | msgspec.UnsetType = msgspec.UNSET
    claim_within_seconds: int | msgspec.UnsetType = msgspec.UNSET


class BatchResult(msgspec.Struct):
    """Describes the answer to one delivery of a batch. It contains the status code and the body
    that POST /wake/v1/deliver would have sent, and two facts that POST /wake/v1/deliver sends as
    headers."""

    status_code: int
    body: Annotated[
        Raw,
        Meta(
            extra_json_schema={
                "anyOf": [
                    {"$ref": "#/components/schemas/Receipt"},
                    {"$ref": "#/components/schemas/ErrorBody"},
                ]
            }
        ),
    ]
    replayed: bool = False
    retry_after: int | None = None


class Batch(msgspec.Struct):
    """Answers POST /wake/v1/deliveries with 200: one result for each delivery, in order."""

    results: list[BatchResult]


class Withdrawal(msgspec.Struct):
    """Answers POST /wake/v1/withdraw/{delivery_id} with 200. Repeated requests return the first
    withdrawal."""

    delivery_id: UUID
    status: Literal["withdrawn"]
    withdrawn_at: Time
    reason: str | None


class Claim(msgspec.Struct):
    """Answers POST /wake/v1/claim/{delivery_id} with 200: the approval is used now, or was by the
    same request before. `claimable_until` is present if the delivery, or a rule of its team, limits
    the time for a claim."""

    delivery_id: UUID
    status: Literal["approved", "redirected"]
    claimed_at: Time
    claim_id: UUID
    claimable_until: Time | msgspec.UnsetType = msgspec.UNSET


class ClaimStatus(msgspec.Struct):
    """Answers GET /wake/v1/claim/{delivery_id}, which a gate may ask for. The status is
    `superseded` if a newer version was decided instead. `claimable_until` is present if the answer
    is released and the time for a claim is limited."""

    delivery_id: UUID
    status: Status | Literal["superseded"]
    digest: str
    claimed_at: Time | None
    claimable_until: Time | msgspec.UnsetType = msgspec.UNSET


class OutcomeReceipt(msgspec.Struct):
    """Answers POST /wake/v1/outcome/{delivery_id} with 201."""

    delivery_id: UUID
    status: Literal["done", "failed", "skipped"]
    reported_at: Time


class Blob(msgspec.Struct):
    """Answers POST /wake/v1/blobs with 201. A picture is written again: `media_type`, `size` and
    `sha256` describe the stored file, and `width` and `height` are null for other files. The file
    is stored until `expires_at`, and longer while a delivery has it."""

    blob_id: UUID
    media_type: str
    size: int
    sha256: str
    width: int | None
    height: int | None
    expires_at: Time


class Quorum(msgspec.Struct):
    """Says how many people have to approve, and how many have approved (docs/protocol.md,
    Quorum)."""

    needed: int
    have: int


class Decision(msgspec.Struct):
    """Says what one person decided."""

    status: Literal["approved", "rejected", "redirected"]
    by: str
    at: Time


class Votes(msgspec.Struct):
    """Holds `quorum` and `decisions` as Response.quorum_json stores them."""

    quorum: Quorum
    decisions: list[Decision]


class Rule(msgspec.Struct):
    """Says that a rule answered instead of a person (docs/protocol.md, Rules that answer)."""

    kind: Literal["rule"] = "rule"


class Answer(msgspec.Struct):
    """Answers GET /wake/v1/response/{delivery_id}. An item of the sweep and the body of a callback
    are the same, byte for byte.

    The first five keys are the specification's. docs/protocol.md, Timeouts, explains `expires_at`,
    `expired` and `late`. `erased` says that retention removed the texts, so that readers do not
    take their absence for the answer.
    """

    delivery_id: UUID
    status: Status
    feedback: str | None
    edited_content: Content
    responded_at: Time | None
    expires_at: Time | None
    expired: bool
    late: bool
    erased: bool
    # Present only if the delivery needs more than one approval. The decisions come with the
    # delivery's answer.
    quorum: Quorum | msgspec.UnsetType = msgspec.UNSET
    decisions: list[Decision] | msgspec.UnsetType = msgspec.UNSET
    # Present only if a rule answered.
    responded_by: Rule | msgspec.UnsetType = msgspec.UNSET
    # Present only if the delivery asked for its digest and the answer is released. The nonce is
    # erased with the content.
    digest: str | msgspec.UnsetType = msgspec.UNSET
    nonce: str | msgspec.UnsetType = msgspec.UNSET
    # Present only if the agent has withdrawn the delivery (docs/protocol.md, Withdraw).
    withdrawn_at: Time | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_settled(self) -> bool:
        """Returns whether waiting is over: a person answered, or the agent withdrew the
        delivery."""
        return self.status != "pending" or self.withdrawn_at is not msgspec.UNSET


class Sweep(msgspec.Struct):
    """Answers GET /wake/v1/responses. `next_since` is a text, so that an empty page returns the
    caller's own value unchanged."""

    deliveries: list[Answer]
    total: int
    has_more: bool
    next_since: str | None


class Problem(msgspec.Struct):
    """Describes a problem with one field of the request."""

    field: str
    code: str
    message: str


class Error(msgspec.Struct, omit_defaults=True):
    code: str
    message: str
    fields: list[Problem] = []
    # Present only if a claim is refused: when the approval was used, the status of the delivery
    # (`superseded` if a newer version was decided instead), or until when the approval could be
    # claimed.
    claimed_at: Time | None = None
    status: Status | Literal["superseded"] | None = None
    claimable_until: Time | None = None
    # Present only if the client sent X-Request-ID: the id of this request.
    request_id: str | None = None


class ErrorBody(msgspec.Struct):
    """Describes an error, in the body of every error. It has no top-level `status`, which clients
    would take for the answer; only a poll's 429 and 503 say `pending` (docs/protocol.md,
    Errors)."""

    error: Error


def answer(
    *,
    delivery_id: UUID,
    expires_at: datetime | None,
    status: str = "pending",
    feedback: str = "",
    edited_json: str | None = None,
    answered_at: datetime | None = None,
    responded_at: datetime | None = None,
    is_erased: bool = False,
    quorum_json: str | None = None,
    waits_for: Quorum | None = None,
    is_by_rule: bool = False,
    digest: str | None = None,
    nonce: str = "",
    withdrawn_at: datetime | None = None,
    at: datetime,
) -> Answer:
    """Builds an answer. `at` is the instant of reading, which decides whether an unanswered
    delivery has expired. `waits_for` is the quorum of a waiting delivery, and `digest` is None if
    the agent did not ask for it."""
    votes = msgspec.json.decode(quorum_json, type=Votes) if quorum_json else None
    return Answer(
        delivery_id=delivery_id,
        status=status,  # type: ignore[arg-type]
        feedback=feedback or None,
        edited_content=Raw(b"null" if edited_json is None else edited_json.encode()),
        responded_at=responded_at,
        expires_at=expires_at,
        expired=expires_at is not None and (responded_at or at) >= expires_at,
        late=bool(responded_at and answered_at and expires_at and answered_at >= expires_at),
        erased=is_erased,
        quorum=votes.quorum if votes else waits_for or msgspec.UNSET,
        decisions=votes.decisions if votes else msgspec.UNSET,
        responded_by=Rule() if is_by_rule else msgspec.UNSET,
        digest=digest or msgspec.UNSET,
        nonce=nonce or msgspec.UNSET,
        withdrawn_at=withdrawn_at or msgspec.UNSET,
    )


def instant(at: datetime) -> str:
    """Formats a time as RFC 3339 in UTC, to the microsecond. A cursor without microseconds would
    lie before the row that it belongs to, and each sweep would return that row again."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value)
