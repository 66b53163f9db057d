"""Decides which requests a client makes and when, without making them.

WakeClient, which blocks, and AsyncWakeClient, which awaits, run the same flows. A flow is a
generator, as in `httpx.Auth`. A flow yields a request or a pause, receives the response, and
returns the result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NotRequired, Required, TypedDict, TypeVar
from urllib.parse import quote

import httpx

from wake_client import digest as digests
from wake_client.answers import (
    Answer,
    Blob,
    Claim,
    Outcome,
    OutcomeStatus,
    Receipt,
    Status,
    Sweep,
    Type,
    Withdrawal,
)
from wake_client.errors import (
    NotWake,
    Unavailable,
    WakeError,
    error_of,
    error_of_item,
    unreachable,
)
from wake_client.http.backoff import at_least, pauses
from wake_client.uploads import Source, content_of, media_type_of

MAX_LONG_POLL_SECONDS = 25
RESPONSE_SECONDS = 15.0
MAX_KEY_CHARACTERS = 255
# Temporary statuses, which pass without a change on our side, unlike 500, 501 and 505.
TEMPORARY_STATUSES = {429, 502, 503, 504}
# A server without long polls answers immediately. The specification says how often to poll it.
POLL_EVERY_SECONDS = 60.0

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Request:
    """Describes one HTTP request. `path` begins after /wake/v1, `body` is sent as compact JSON and
    `content` unchanged, and `wait` is for a long poll."""

    method: Literal["GET", "POST"]
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    wait: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """Returns this request as keyword arguments of httpx.Client.request."""
        headers, content = dict(self.headers), self.content
        if self.body is not None:
            headers["Content-Type"] = "application/json"
            content = digests.compact_json(self.body).encode()
        return {
            "method": self.method,
            "url": self.path,
            "params": dict(self.params),
            "headers": headers,
            "content": content,
            "timeout": self.wait + RESPONSE_SECONDS,
        }


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


# The caller answers a Request with its response, or throws the httpx.RequestError into the flow.
# The caller answers a Pause with None.
Flow = Generator[Request | Pause, Any, Result]


class OptionalFields(TypedDict, total=False):
    """Lists the fields of a delivery that may be left out, in the server's order.

    The last nine are extensions. `GET /wake/v1` lists the extensions of a server.
    """

    details: dict[str, Any] | str | None
    callback_webhook: str | None
    timeout_seconds: int | None
    assumption: str | None
    on_timeout: Literal["proceed", "hold", "abort"] | None
    thread: str | None
    supersedes: str | None
    priority: Literal["low", "normal", "high"] | None
    quorum: int | None
    irreversible: bool | None
    claim_within_seconds: int | None
    digest: bool | None
    receipt: bool | None


class Unsent(OptionalFields):
    """Describes one delivery of deliver_many(). With an `idempotency_key`, it is safe to send the
    delivery again after a restart of your program."""

    type: Required[Type]
    headline: Required[str]
    summary: Required[str]
    idempotency_key: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Flows:
    """Makes the flows of one agent. A request is tried again for `retry_for` seconds; `now` is a
    monotonic clock."""

    agent_id: str
    provider: str
    retry_for: float
    now: Callable[[], float]
    uploaded: dict[str, str] = field(default_factory=dict)  # SHA-256 by the id of the blob

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
            **_without_nulls(optional),
        }
        # All tries have one key. If the first try was stored and only its response was lost, the
        # second try stores nothing.
        headers = _idempotent(idempotency_key)
        response = yield from self._send(Request("POST", "/deliver", headers=headers, body=body))
        return self._checked(Receipt.read(_json(response), replayed=_is_replayed(response)), body)

    def deliver_many(
        self, deliveries: Sequence[Unsent], *, atomic: bool
    ) -> Flow[list[Receipt | WakeError]]:
        own = {"agent_id": self.agent_id, "provider": self.provider}
        items = [
            # As in deliver(), all tries have one key.
            {**own, "idempotency_key": str(uuid.uuid4()), **_without_nulls(delivery)}
            for delivery in deliveries
        ]
        body = {"deliveries": items, "atomic": atomic}
        response = yield from self._send(Request("POST", "/deliveries", body=body))
        results = _results(_json(response), count=len(items))
        return [
            self._checked(result, item) if isinstance(result, Receipt) else result
            for result, item in zip(results, items, strict=True)
        ]

    def upload(self, source: Source, *, media_type: str) -> Flow[Blob]:
        content = content_of(source)
        headers = {"Content-Type": media_type or media_type_of(source, content)}
        # The same bytes are the same blob, so a second try stores nothing.
        request = Request("POST", "/blobs", headers=headers, content=content)
        response = yield from self._send(request)
        blob = Blob.read(_json(response))
        self.uploaded[blob.blob_id] = blob.sha256
        return blob

    def response(
        self, delivery_id: str, *, wait: int = 0, until: float | None = None
    ) -> Flow[Answer]:
        """Lets the server wait up to `wait` seconds (1 to 25) for an answer. No try begins after
        `until` on the clock."""
        params = {"wait": str(wait)} if wait else {}
        path = f"/response/{quote(delivery_id, safe='')}"
        request = Request("GET", path, params=params, wait=wait)
        response = yield from self._send(request, until=until)
        answer = Answer.read(_json(response))
        if answer.delivery_id.lower() != delivery_id.lower():
            raise NotWake(
                "not_wake",
                f"The response for {delivery_id} is about {answer.delivery_id}.",
            )
        return answer

    def wait(
        self,
        delivery_id: str,
        *,
        timeout: float | None,
        must_wait: bool = False,
        digest: str | None = None,
    ) -> Flow[Answer]:
        """Waits until the delivery is answered or expired, or until `timeout` seconds have passed.
        Raises ContentMismatch if the answer has another digest than `digest`.

        With `must_wait` waiting goes on after the deadline. A pending answer then never says
        `expired`, because a program that sees `expired` may go on.
        """
        until = None if timeout is None else self.now() + timeout
        pause = 1.0
        while True:
            remaining = MAX_LONG_POLL_SECONDS if until is None else until - self.now()
            wait = max(1, min(MAX_LONG_POLL_SECONDS, int(remaining)))
            asked_at = self.now()
            answer = yield from self.response(delivery_id, wait=wait, until=until)
            digests.check_answer(answer, digest)
            if must_wait and not answer.is_answered:
                answer = replace(answer, expired=False)
            if answer.is_final or (until is not None and self.now() >= until):
                return answer
            if self.now() - asked_at >= wait / 2:  # the server has long polls
                pause = 1.0
                continue
            remaining = POLL_EVERY_SECONDS if until is None else max(until - self.now(), 0)
            yield Pause(min(pause, remaining))
            pause = min(pause * 2, POLL_EVERY_SECONDS)

    def ask(
        self,
        headline: str,
        summary: str,
        optional: OptionalFields,
        *,
        timeout: float | None,
        idempotency_key: str | None,
    ) -> Flow[Answer]:
        """Delivers a question, then waits as wait() does."""
        receipt = yield from self.deliver(
            "question", headline, summary, optional, idempotency_key=idempotency_key
        )
        return (
            yield from self.wait(
                receipt.delivery_id,
                timeout=timeout,
                must_wait=receipt.must_wait,
                digest=receipt.digest,
            )
        )

    def claim(self, delivery_id: str, *, digest: str, idempotency_key: str | None) -> Flow[Claim]:
        path = f"/claim/{quote(delivery_id, safe='')}"
        # All tries have one key, as in deliver().
        headers = _idempotent(idempotency_key)
        request = Request("POST", path, headers=headers, body={"digest": digest})
        response = yield from self._send(request)
        return Claim.read(_json(response), replayed=_is_replayed(response))

    def report(
        self,
        delivery_id: str,
        status: OutcomeStatus,
        *,
        summary: str | None,
        details: dict[str, Any] | str | None,
        idempotency_key: str | None = None,
    ) -> Flow[Outcome]:
        path = f"/outcome/{quote(delivery_id, safe='')}"
        body = _without_nulls({"status": status, "summary": summary, "details": details})
        headers = _idempotent(idempotency_key)
        response = yield from self._send(Request("POST", path, headers=headers, body=body))
        return Outcome.read(_json(response))

    def extensions(self) -> Flow[frozenset[str]]:
        response = yield from self._send(Request("GET", ""))
        match _json(response):
            case {"extensions": [*names]}:
                return frozenset(map(str, names))
            case {}:  # a server of the specification need not have any
                return frozenset()
        raise NotWake("not_wake", "The response does not name the server's extensions.")

    def withdraw(self, delivery_id: str, *, reason: str | None) -> Flow[Withdrawal]:
        path = f"/withdraw/{quote(delivery_id, safe='')}"
        body = {"reason": reason} if reason else {}
        response = yield from self._send(Request("POST", path, body=body))
        return Withdrawal.read(_json(response))

    def sweep(
        self, *, since: str | None, status: tuple[Status, ...], limit: int, wait: int
    ) -> Flow[Sweep]:
        params = {
            "agent_id": self.agent_id,
            "status": ",".join(status),
            "since": since or "",
            "limit": str(limit),
            "wait": str(wait) if wait else "",
        }
        params = {name: text for name, text in params.items() if text}
        response = yield from self._send(Request("GET", "/responses", params=params, wait=wait))
        return Sweep.read(_json(response))

    def _checked(self, receipt: Receipt, sent: Mapping[str, Any]) -> Receipt:
        """Raises ContentMismatch if the delivery asked for its digest and the receipt has another
        digest."""
        if sent.get("digest"):  # a server without digests sends none, which also is a mismatch
            blobs = [self.uploaded.get(id) for id in digests.named_blobs(sent.get("details"))]
            known = [sha256 for sha256 in blobs if sha256]
            is_known = len(known) == len(blobs)  # other blobs were uploaded by another client
            digests.check_receipt(receipt, sent, files=known if is_known else None)
        return receipt

    def _send(self, request: Request, *, until: float | None = None) -> Flow[httpx.Response]:
        """Tries again while that may help, but not sooner than the server asks. Raises
        WakeError."""
        give_up_at = self.now() + self.retry_for
        give_up_at = give_up_at if until is None else min(give_up_at, until)
        failure: WakeError
        backoff = pauses()
        while True:
            try:
                response: httpx.Response = yield request
            except httpx.RequestError as error:
                failure = unreachable(error)
                failure.__cause__ = error
                if not isinstance(failure, Unavailable):
                    raise failure from error
            else:
                if response.is_success:
                    return response
                failure = error_of(response)
                if response.status_code not in TEMPORARY_STATUSES:
                    raise failure
            pause = next(backoff)
            if failure.retry_after is not None:
                pause = at_least(failure.retry_after)
            if self.now() + pause > give_up_at:
                raise failure
            yield Pause(pause)


def _idempotent(key: str | None) -> dict[str, str]:
    """Returns the header for the key, or for a new random key. Raises ValueError for a key that
    cannot be a header."""
    key = key or str(uuid.uuid4())
    if len(key) > MAX_KEY_CHARACTERS or not (key.isascii() and key.isprintable()):
        raise ValueError("An idempotency key must be 1 to 255 printable ASCII characters.")
    return {"Idempotency-Key": key}


def _without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _results(body: Any, *, count: int) -> list[Receipt | WakeError]:
    try:
        results = [
            Receipt.read(result["body"], replayed=bool(result["replayed"]))
            if result["status_code"] == 201
            else error_of_item(result)
            for result in body["results"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise NotWake("not_wake", f"The response is not that of a batch: {error!r}") from error
    if len(results) != count:
        raise NotWake("not_wake", f"{count} deliveries were sent, with {len(results)} results.")
    return results


def _is_replayed(response: httpx.Response) -> bool:
    replayed: str | None = response.headers.get("Idempotency-Replayed")
    return replayed == "true"


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise NotWake(
            "not_wake", "The response is not JSON.", status=response.status_code
        ) from error
