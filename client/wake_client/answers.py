"""Parses the server's responses into typed objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from wake_client.errors import NotWake

Type = Literal["update", "question", "output", "alert"]
Status = Literal["pending", "approved", "rejected", "redirected"]
OutcomeStatus = Literal["done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """Confirms that a delivery is stored.

    `replayed` is true if an earlier request with the same Idempotency-Key had already stored it.
    `on_timeout` is `hold` if the agent has to wait for the answer although it did not ask to: a
    rule of the team requires it, or the delivery is irreversible. The other fields are set only if
    the delivery asked for its digest. `quorum` is the number of people who have to approve, if one
    is not enough. `files` has the SHA-256 of each file that the details name.
    `claim_within_seconds` is how long an approval can be claimed, if this time is limited.
    """

    delivery_id: str
    created_at: datetime
    replayed: bool = False
    on_timeout: str | None = None
    digest: str | None = None
    nonce: str | None = None
    quorum: int | None = None
    files: tuple[str, ...] = ()
    claim_within_seconds: int | None = None

    @classmethod
    def read(cls, body: Any, *, replayed: bool = False) -> Receipt:
        """Reads the body of a response to a delivery. Raises NotWake."""
        try:
            return cls(
                str(body["delivery_id"]),
                datetime.fromisoformat(body["created_at"]),
                replayed,
                body.get("on_timeout"),
                body.get("digest"),
                body.get("nonce"),
                body.get("quorum"),
                tuple(body.get("files", ())),
                body.get("claim_within_seconds"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error

    @property
    def must_wait(self) -> bool:
        """Returns whether the agent has to wait for the answer, even after the deadline."""
        return self.on_timeout == "hold"


@dataclass(frozen=True, slots=True)
class Blob:
    """Confirms that a file is stored, for blocks.image() and blocks.file().

    The server re-encodes a picture, so type, size and hash describe the file that people get. If no
    delivery shows the file, it is removed after `expires_at`.
    """

    blob_id: str
    media_type: str
    size: int
    sha256: str
    width: int | None
    height: int | None
    expires_at: datetime

    @classmethod
    def read(cls, body: Any) -> Blob:
        """Reads the body of a response to an upload. Raises NotWake."""
        try:
            return cls(
                str(body["blob_id"]),
                str(body["media_type"]),
                int(body["size"]),
                str(body["sha256"]),
                body["width"],
                body["height"],
                datetime.fromisoformat(body["expires_at"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Confirms that a delivery was taken out of the inbox, with the facts of the first request."""

    delivery_id: str
    withdrawn_at: datetime
    reason: str | None

    @classmethod
    def read(cls, body: Any) -> Withdrawal:
        """Reads the body of a response to a withdrawal. Raises NotWake."""
        try:
            withdrawn_at = datetime.fromisoformat(body["withdrawn_at"])
            return cls(str(body["delivery_id"]), withdrawn_at, body["reason"])
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Claim:
    """Confirms that an approval is used. A used approval never works again.

    `replayed` is true if an earlier request with the same Idempotency-Key used the approval. If you
    chose the key, your program may have acted already.
    """

    delivery_id: str
    status: Status
    claimed_at: datetime
    claim_id: str
    replayed: bool = False

    @classmethod
    def read(cls, body: Any, *, replayed: bool = False) -> Claim:
        """Reads the body of a response to a claim. Raises NotWake."""
        try:
            return cls(
                str(body["delivery_id"]),
                _status(body["status"]),
                datetime.fromisoformat(body["claimed_at"]),
                str(body["claim_id"]),
                replayed,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Outcome:
    """Confirms that the server stored what came of a delivery."""

    delivery_id: str
    status: OutcomeStatus
    reported_at: datetime

    @classmethod
    def read(cls, body: Any) -> Outcome:
        """Reads the body of a response to an outcome. Raises NotWake."""
        try:
            reported_at = datetime.fromisoformat(body["reported_at"])
            return cls(str(body["delivery_id"]), body["status"], reported_at)
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Answer:
    """Contains a person's answer to a delivery. The `status` is "pending" while there is no answer.

    `edited_content` is an object or a text, and only set if the delivery was redirected. `expired`
    means that the deadline passed without an answer. `late` means that the answer came after the
    deadline. `erased` means that the server has deleted the answer's text since. These three stay
    false with a server that does not have the extensions for them. `quorum` ("needed", "have") and
    `decisions` ("status", "by" and "at" of each person) are set if several people had to approve.
    `responded_by` is {"kind": "rule"} if a rule of the team answered instead of a person. `digest`
    and `nonce` are set if the delivery asked for its digest. The server erases the nonce together
    with the texts. `withdrawn_at` is set if the agent has withdrawn the delivery. Then no answer
    comes, and `expired` does not mean that the agent may go on.
    """

    delivery_id: str
    status: Status
    feedback: str | None = None
    edited_content: dict[str, Any] | str | None = None
    responded_at: datetime | None = None
    expires_at: datetime | None = None
    expired: bool = False
    late: bool = False
    erased: bool = False
    quorum: dict[str, int] | None = None
    decisions: list[dict[str, str]] | None = None
    responded_by: dict[str, str] | None = None
    digest: str | None = None
    nonce: str | None = None
    withdrawn_at: datetime | None = None

    @property
    def is_answered(self) -> bool:
        return self.status != "pending"

    @property
    def is_withdrawn(self) -> bool:
        return self.withdrawn_at is not None

    @property
    def is_final(self) -> bool:
        """Returns whether waiting is over, because the delivery is answered, has expired or was
        withdrawn."""
        return self.is_answered or self.expired or self.is_withdrawn

    @classmethod
    def read(cls, body: Any) -> Answer:
        """Reads the body of a poll or a callback, or an item of a sweep. Raises NotWake."""
        try:
            return cls(
                delivery_id=str(body["delivery_id"]),
                status=_status(body["status"]),
                feedback=body["feedback"],
                edited_content=body["edited_content"],
                responded_at=_optional_time(body["responded_at"]),
                expires_at=_optional_time(body.get("expires_at")),
                expired=bool(body.get("expired")),
                late=bool(body.get("late")),
                erased=bool(body.get("erased")),
                quorum=body.get("quorum"),
                decisions=body.get("decisions"),
                responded_by=body.get("responded_by"),
                digest=body.get("digest"),
                nonce=body.get("nonce"),
                withdrawn_at=_optional_time(body.get("withdrawn_at")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Sweep:
    """Contains one page of answers, oldest first. The next page begins at `next_since`."""

    answers: tuple[Answer, ...]
    total: int
    has_more: bool
    next_since: str | None

    @classmethod
    def read(cls, body: Any) -> Sweep:
        """Reads the body of a response to a sweep. Raises NotWake."""
        try:
            return cls(
                tuple(Answer.read(item) for item in body["deliveries"]),
                int(body["total"]),
                bool(body["has_more"]),
                body["next_since"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error


def _status(text: Any) -> Status:
    match text:
        case "pending" | "approved" | "rejected" | "redirected":
            return text  # type: ignore[no-any-return]
    raise ValueError(f"unknown status: {text!r}")


def _optional_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _not_wake(error: Exception) -> NotWake:
    return NotWake("not_wake", f"The response does not follow the protocol: {error!r}")
