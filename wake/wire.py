"""What this server sends, in the specification's order: the one definition of it, for polls, sweeps
and callbacks.

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
    """201 of POST /wake/v1/deliver (spec, "POST /wake/v1/deliver")."""

    delivery_id: UUID
    status: Literal["received"]
    created_at: Time


class Answer(msgspec.Struct):
    """GET /wake/v1/response/{delivery_id}, an item of the sweep, and the body of a callback, byte
    for byte.

    The first five keys are the specification's; `expires_at`, `expired` and `late` are
    PROTOCOL.md's, Timeouts. `erased` says that retention took the words away, so that nobody takes
    their absence for the answer.
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


class Sweep(msgspec.Struct):
    """GET /wake/v1/responses; `next_since` is a text, so that an empty page returns the caller's
    own, untouched."""

    deliveries: list[Answer]
    total: int
    has_more: bool
    next_since: str | None


class Problem(msgspec.Struct):
    """What is wrong with one field of the request."""

    field: str
    code: str
    message: str


class Error(msgspec.Struct, omit_defaults=True):
    code: str
    message: str
    fields: list[Problem] = []


class ErrorBody(msgspec.Struct):
    """Every error: never a top-level `status`, which clients would take for the answer
    (PROTOCOL.md, Errors)."""

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
    at: datetime,
) -> Answer:
    """`at` is the instant of reading: it decides whether the window of an unanswered delivery has
    passed."""
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
    )


def instant(at: datetime) -> str:
    """As the other times on the wire; milliseconds would hand the last row out again for ever."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value)
