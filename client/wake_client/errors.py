"""Turns every failure of a request into one kind of exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """Describes a problem with one field of a delivery."""

    field: str
    code: str
    message: str


class WakeError(Exception):
    """The server did not do what it was asked to do.

    `code` and `message` are the server's own. `status` is the HTTP status, or None if there was no
    response. `fields` name the problems of a delivery. `retry_after` is the number of seconds that
    the server asked to wait.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        fields: tuple[FieldProblem, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        problems = [f"{problem.field}: {problem.message}" for problem in fields]
        new = [problem for problem in problems if problem not in message]
        super().__init__("; ".join([f"{message} ({code})", *new]))
        self.code = code
        self.message = message
        self.status = status
        self.fields = fields
        self.retry_after = retry_after


class NotAccepted(WakeError):
    """The request does not fit the protocol (400, 405, 413, 415, 422). Nothing was stored."""


class KeyNotValid(WakeError):
    """The key is unknown, revoked or expired (401). Ask a person for a new one."""


class NotAllowed(WakeError):
    """The key may not do this, its agent is paused, or the request came over plain http (403)."""


class AlreadyAnswered(WakeError):
    """A person has answered this delivery, so it was not withdrawn (409)."""


class NotClaimed(WakeError):
    """The approval was not used (409): `code` is already_claimed, not_approved, digest_mismatch or
    approval_expired. For not_approved, `delivery_status` says what the delivery is instead, such as
    "rejected", or "superseded" if people decided about a newer version. Do not act."""

    delivery_status: str | None = None


class ContentMismatch(WakeError):
    """The content that the server stored, or that a person answered, is not the content that was
    sent. Do not act."""


class NotFound(WakeError):
    """This key has no such delivery (404)."""


class TooManyRequests(WakeError):
    """The quota of the key is spent (429)."""


class Unavailable(WakeError):
    """The server cannot be reached, or cannot answer at the moment (5xx)."""


class NotWake(WakeError):
    """The response does not follow the protocol. Check the endpoint."""


KINDS: dict[int, type[WakeError]] = {
    400: NotAccepted,
    401: KeyNotValid,
    403: NotAllowed,
    404: NotFound,
    405: NotAccepted,
    409: AlreadyAnswered,
    413: NotAccepted,
    415: NotAccepted,
    422: NotAccepted,
    429: TooManyRequests,
}


NOT_CLAIMED = {"already_claimed", "not_approved", "digest_mismatch", "approval_expired"}


def error_of(response: httpx.Response) -> WakeError:
    """Returns the error for a response that is not a success."""
    status = response.status_code
    error = _server_error(response)
    kind = Unavailable if status >= 500 else KINDS.get(status, NotWake)
    if error.get("code") in NOT_CLAIMED:
        kind = NotClaimed
    if kind is NotFound and not error:  # the address is not a Wake server's
        kind = NotWake
    found = kind(
        error.get("code") or f"http_{status}",
        error.get("message") or _message_for(response),
        status=status,
        fields=_fields(error.get("fields")),
        retry_after=retry_after(response),
    )
    if isinstance(found, NotClaimed):
        found.delivery_status = error.get("status")
    return found


def error_of_item(result: dict[str, Any]) -> WakeError:
    """Returns the error of one delivery of a batch, from its result."""
    status, error = int(result["status_code"]), result["body"]["error"]
    kind = Unavailable if status >= 500 else KINDS.get(status, NotWake)
    return kind(
        str(error["code"]),
        str(error["message"]),
        status=status,
        fields=_fields(error.get("fields")),
        retry_after=result["retry_after"],
    )


def unreachable(failure: httpx.RequestError) -> WakeError:
    """Returns Unavailable, because the failure may pass. Returns NotAccepted if the request cannot
    be sent, for example because a header contains a line break."""
    reason = str(failure) or type(failure).__name__
    if isinstance(failure, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return NotAccepted("not_sent", f"This cannot be sent: {reason}. Nothing was stored.")
    host = failure.request.url.host
    return Unavailable("unreachable", f"{host} could not be reached, or did not answer: {reason}")


def _server_error(response: httpx.Response) -> dict[str, Any]:
    """Returns the `error` of the body, or {} if a proxy answered instead of the server."""
    try:
        error = response.json()["error"]
    except (ValueError, TypeError, KeyError):
        return {}
    return error if isinstance(error, dict) else {}


def _message_for(response: httpx.Response) -> str:
    host, status = response.url.host, response.status_code
    if response.has_redirect_location:
        location = response.headers["Location"]
        return (
            f"{host} answered {status} and points to {location}. A key is sent only to the "
            "endpoint that you gave. If that address is your server, use it as the endpoint."
        )
    hint = "" if status >= 500 else " Check the endpoint."
    return f"{host} answered {status} without a reason.{hint}"


def _fields(problems: Any) -> tuple[FieldProblem, ...]:
    if not isinstance(problems, list):
        return ()
    return tuple(
        FieldProblem(*(str(problem.get(name, "")) for name in ("field", "code", "message")))
        for problem in problems
        if isinstance(problem, dict)
    )


def retry_after(response: httpx.Response) -> float | None:
    """Returns the header's seconds. A date, which only proxies send, is ignored."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() else None
