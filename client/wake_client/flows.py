"""What a client does, step by step, without doing it: the same for the client that blocks and the
one that awaits.

A flow yields what to send or how long to pause, is sent the response, and returns what it read from
it; `httpx.Auth` has its flows in this way.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, TypeVar
from urllib.parse import quote

import httpx

from wake_client.answers import Answer, Receipt, Status, Sweep, Type
from wake_client.backoff import no_sooner_than, pauses
from wake_client.errors import NotWake, Unavailable, WakeError, error_of, unreachable

LONGEST_POLL = 25
SECONDS_FOR_AN_ANSWER = 15.0
# What passes by itself. A 500 does not, and 501 or 505 never will.
PASSING = {429, 502, 503, 504}
# A server without long polls answers at once; it is asked as often as the specification says.
POLL_EVERY = 60.0

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; `path` is below /wake/v1."""

    method: Literal["GET", "POST"]
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    wait: int = 0

    @property
    def timeout(self) -> float:
        return self.wait + SECONDS_FOR_AN_ANSWER


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


# Each Ask is answered with its response, or the httpx.RequestError is thrown in; a Pause with
# nothing.
Flow = Generator[Ask | Pause, Any, Made]


class OptionalFields(TypedDict, total=False):
    """The fields of a delivery that may be left out; the last four are extensions (`GET
    /wake/v1`)."""

    details: dict[str, Any] | str | None
    callback_webhook: str | None
    timeout_seconds: int | None
    assumption: str | None
    on_timeout: Literal["proceed", "hold", "abort"] | None
    thread: str | None
    supersedes: str | None


@dataclass(frozen=True, slots=True)
class Flows:
    """`retry_for`: seconds for which one request is tried again; `now`: a clock that only goes
    forward."""

    agent_id: str
    provider: str
    retry_for: float
    now: Callable[[], float]

    def deliver(
        self,
        type: Type,
        headline: str,
        summary: str,
        optional: OptionalFields,
        *,
        idempotency_key: str | None,
    ) -> Flow[Receipt]:
        body: dict[str, Any] = {
            "agent_id": self.agent_id,
            "provider": self.provider,
            "type": type,
            "headline": headline,
            "summary": summary,
            **{name: value for name, value in optional.items() if value is not None},
        }
        # One key for all tries: if the first was stored and only its answer was lost, the second
        # stores nothing.
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        response = yield from self._sent(Ask("POST", "/deliver", headers=headers, body=body))
        replayed = response.headers.get("Idempotency-Replayed") == "true"
        return Receipt.read(_json(response), replayed=replayed)

    def response(
        self, delivery_id: str, *, wait: int = 0, until: float | None = None
    ) -> Flow[Answer]:
        """`wait`: seconds (1 to 25) that the server may take until there is an answer; `until`
        when, by the clock, it is tried again at most."""
        params = {"wait": str(wait)} if wait else {}
        path = f"/response/{quote(delivery_id, safe='')}"
        response = yield from self._sent(Ask("GET", path, params=params, wait=wait), until=until)
        answer = Answer.read(_json(response))
        if answer.delivery_id.lower() != delivery_id.lower():
            raise NotWake("not_wake", f"Asked for {delivery_id}, told of {answer.delivery_id}.")
        return answer

    def wait(self, delivery_id: str, *, timeout: float | None) -> Flow[Answer]:
        """Until it is answered, its window passed, or `timeout` seconds are over."""
        until = None if timeout is None else self.now() + timeout
        pause = 1.0
        while True:
            left = LONGEST_POLL if until is None else until - self.now()
            wait = max(1, min(LONGEST_POLL, int(left)))
            asked_at = self.now()
            answer = yield from self.response(delivery_id, wait=wait, until=until)
            if answer.is_final or (until is not None and self.now() >= until):
                return answer
            if self.now() - asked_at >= wait / 2:
                pause = 1.0
                continue
            left = POLL_EVERY if until is None else max(until - self.now(), 0)
            yield Pause(min(pause, left))
            pause = min(pause * 2, POLL_EVERY)

    def sweep(
        self, *, since: str | None, status: tuple[Status, ...], limit: int, wait: int
    ) -> Flow[Sweep]:
        given = {
            "agent_id": self.agent_id,
            "status": ",".join(status),
            "since": since or "",
            "limit": str(limit),
            "wait": str(wait) if wait else "",
        }
        params = {name: text for name, text in given.items() if text}
        response = yield from self._sent(Ask("GET", "/responses", params=params, wait=wait))
        return Sweep.read(_json(response))

    def _sent(self, ask: Ask, *, until: float | None = None) -> Flow[httpx.Response]:
        """Tried again while it may help, and no sooner than the server asks. Raises WakeError."""
        last = self.now() + self.retry_for
        last = last if until is None else min(last, until)
        failure: WakeError
        tries = pauses()
        while True:
            try:
                response: httpx.Response = yield ask
            except httpx.RequestError as error:
                failure = unreachable(error)
                failure.__cause__ = error
                if not isinstance(failure, Unavailable):
                    raise failure from error
            else:
                if response.is_success:
                    return response
                failure = error_of(response)
                if response.status_code not in PASSING:
                    raise failure
            pause = next(tries)
            if failure.retry_after is not None:
                pause = no_sooner_than(failure.retry_after)
            if self.now() + pause > last:
                raise failure
            yield Pause(pause)


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise NotWake("not_wake", "The answer is not JSON.", status=response.status_code) from error
