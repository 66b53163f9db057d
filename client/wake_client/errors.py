"""What can go wrong between an agent and its server, each as one exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of a delivery."""

    field: str
    code: str
    message: str


class WakeError(Exception):
    """The server did not do what was asked of it.

    `code` and `message` are the server's own, `status` its HTTP status (None where no answer came),
    `fields` name what was wrong with a delivery, `retry_after` are the seconds that it asked for.
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
        wrong = "".join(f"; {one.field}: {one.message}" for one in fields)
        super().__init__(f"{message} ({code}){wrong}")
        self.code = code
        self.message = message
        self.status = status
        self.fields = fields
        self.retry_after = retry_after


class NotAccepted(WakeError):
    """The request does not fit the protocol (400, 405, 413, 422). Nothing was stored."""


class KeyNotValid(WakeError):
    """The key is unknown, revoked or expired (401). Ask a person for a new one."""


class NotAllowed(WakeError):
    """This key may not do that, or not over plain http (403)."""


class NotFound(WakeError):
    """There is nothing here for this key (404)."""


class TooManyRequests(WakeError):
    """The key's quota is spent, or a person has paused the agent (429)."""


class Unavailable(WakeError):
    """The server cannot be reached, or cannot answer for the moment (5xx)."""


class NotWake(WakeError):
    """What answered does not speak the protocol: look at the endpoint."""


KINDS: dict[int, type[WakeError]] = {
    400: NotAccepted,
    401: KeyNotValid,
    403: NotAllowed,
    404: NotFound,
    405: NotAccepted,
    413: NotAccepted,
    422: NotAccepted,
    429: TooManyRequests,
}


def error_of(response: httpx.Response) -> WakeError:
    """Of an answer that is no success."""
    status = response.status_code
    said = _said(response)
    kind = Unavailable if status >= 500 else KINDS.get(status, NotWake)
    if kind is NotFound and not said:  # some other server, at an address that it does not know
        kind = NotWake
    return kind(
        said.get("code") or f"http_{status}",
        said.get("message") or _unsaid(response),
        status=status,
        fields=_fields(said.get("fields")),
        retry_after=_retry_after(response),
    )


def unreachable(failure: httpx.RequestError) -> WakeError:
    """One that may pass, but for what this side cannot send (a header with a line break)."""
    why = str(failure) or type(failure).__name__
    if isinstance(failure, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return NotAccepted("not_sent", f"This cannot be sent: {why}. Nothing was stored.")
    host = failure.request.url.host
    return Unavailable("unreachable", f"{host} could not be reached, or did not answer: {why}")


def _said(response: httpx.Response) -> dict[str, Any]:
    """The server's own words; nothing where a proxy answered in its place."""
    try:
        said = response.json()["error"]
    except (ValueError, TypeError, KeyError):
        return {}
    return said if isinstance(said, dict) else {}


def _unsaid(response: httpx.Response) -> str:
    host, status = response.url.host, response.status_code
    if response.has_redirect_location:
        where = response.headers["Location"]
        return (
            f"{host} answered {status} and points to {where}. A key is sent nowhere but where it "
            "was given for: if that is your server, too, name it as the endpoint."
        )
    hint = "" if status >= 500 else " Look at the endpoint."
    return f"{host} answered {status}, and did not say why.{hint}"


def _fields(said: Any) -> tuple[FieldProblem, ...]:
    if not isinstance(said, list):
        return ()
    return tuple(
        FieldProblem(*(str(one.get(name, "")) for name in ("field", "code", "message")))
        for one in said
        if isinstance(one, dict)
    )


def _retry_after(response: httpx.Response) -> float | None:
    """Whole seconds, as this protocol has them; a date, which only proxies send, is not read."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() else None
