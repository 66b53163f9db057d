"""What the server says, typed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from wake_client.errors import NotWake

Type = Literal["update", "question", "output", "alert"]
Status = Literal["pending", "approved", "rejected", "redirected"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A delivery that was stored. `replayed` says that it had been stored before, by a request
    whose answer was lost."""

    delivery_id: str
    created_at: datetime
    replayed: bool = False

    @classmethod
    def read(cls, body: Any, *, replayed: bool = False) -> Receipt:
        """Raises NotWake."""
        try:
            return cls(str(body["delivery_id"]), _required(body["created_at"]), replayed)
        except (KeyError, TypeError, ValueError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to a delivery, or that nobody has yet.

    `edited_content` is an object or a text, and only there when redirected. `expired` says that
    the window passed without an answer, `late` that one came afterwards, `erased` that the server
    has deleted the words since. A server without these extensions leaves them false.
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

    @property
    def is_answered(self) -> bool:
        return self.status != "pending"

    @property
    def is_final(self) -> bool:
        """Whether there is nothing left to wait for: answered, or its window passed."""
        return self.is_answered or self.expired

    @classmethod
    def read(cls, body: Any) -> Answer:
        """Of a poll, an item of a sweep or the body of a callback. Raises NotWake."""
        try:
            return cls(
                delivery_id=str(body["delivery_id"]),
                status=_status(body["status"]),
                feedback=body["feedback"],
                edited_content=body["edited_content"],
                responded_at=_instant(body["responded_at"]),
                expires_at=_instant(body.get("expires_at")),
                expired=bool(body.get("expired")),
                late=bool(body.get("late")),
                erased=bool(body.get("erased")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _not_wake(error) from error


@dataclass(frozen=True, slots=True)
class Sweep:
    """One page of answers, oldest first. `next_since` is where the next one begins."""

    answers: tuple[Answer, ...]
    total: int
    has_more: bool
    next_since: str | None

    @classmethod
    def read(cls, body: Any) -> Sweep:
        """Raises NotWake."""
        try:
            return cls(
                tuple(Answer.read(one) for one in body["deliveries"]),
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
    raise ValueError(f"no status of the protocol: {text!r}")


def _instant(text: str | None) -> datetime | None:
    return None if text is None else _required(text)


def _required(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _not_wake(error: Exception) -> NotWake:
    return NotWake("not_wake", f"The answer is not one of the protocol: {error!r}")
