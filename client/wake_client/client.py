"""Sends the requests of the flows. WakeClient blocks; AsyncWakeClient awaits (async_client.py)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

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
from wake_client.book import Book
from wake_client.errors import WakeError
from wake_client.http.flows import Flow, Flows, OptionalFields, Pause, Result, Unsent
from wake_client.http.options import MAX_ROWS, RETRY_FOR_SECONDS, options
from wake_client.uploads import Source


class WakeClient:
    """Delivers for one agent, with its key, and waits for answers. Threads may share a
    client.

    `endpoint` is the server's address, with or without `/wake/v1`. The address must be https,
    except for a server on this machine. While the server is away (no connection, 502 to 504) or
    asks to wait (429), a request is tried again for up to `retry_for` seconds. `transport`, `sleep`
    and `now` are for tests.

    The constructor raises ValueError for an invalid endpoint or key. Every method raises WakeError.
    """

    def __init__(
        self,
        endpoint: str,
        key: str,
        *,
        agent_id: str,
        provider: str = "custom",
        retry_for: float = RETRY_FOR_SECONDS,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = httpx.Client(**options(endpoint, key), transport=transport)
        self.flows = Flows(agent_id, provider, retry_for, now)
        self._sleep = sleep

    def deliver(
        self,
        type: Type,
        headline: str,
        summary: str,
        *,
        idempotency_key: str | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Receipt:
        """Delivers to people. If a response is lost, the request is sent again. The server still
        stores the delivery only once.

        `headline` and `summary` are one line each, of up to 120 and 280 characters. Pass an
        `idempotency_key` if your program may be started again for the same work.
        """
        return self.run(
            self.flows.deliver(type, headline, summary, optional, idempotency_key=idempotency_key)
        )

    def deliver_many(
        self, deliveries: Sequence[Unsent], *, atomic: bool = False
    ) -> list[Receipt | WakeError]:
        """Delivers up to 50 in one request; returns a receipt or an error for each, in order.

        A refused delivery does not stop the others. With `atomic`, the server stores either all
        deliveries or none. If it stores none, the method raises the error of the refused delivery.
        """
        return self.run(self.flows.deliver_many(deliveries, atomic=atomic))

    def upload(self, source: Source, *, media_type: str = "") -> Blob:
        """Stores a file (a path, or bytes) for blocks.image() and blocks.file(). PNG, JPEG, WebP
        and GIF are pictures, unless you name a type such as "application/octet-stream"."""
        return self.run(self.flows.upload(source, media_type=media_type))

    def response(self, delivery_id: str) -> Answer:
        """Returns the delivery's current answer, without waiting for a person."""
        return self.run(self.flows.response(delivery_id))

    def wait(
        self,
        delivery_id: str,
        *,
        timeout: float | None = None,
        must_wait: bool = False,
        digest: str | None = None,
    ) -> Answer:
        """Waits until a person answers or the delivery expires, or for `timeout` seconds.

        Pass the `must_wait` of the receipt. If `must_wait` is true, waiting goes on after the
        deadline, and a pending answer is never `expired`. If you asked for the receipt's `digest`,
        pass it, too. An answer to other content then raises ContentMismatch.

        Check the `status` of the answer, because it may still be "pending". Raises Unavailable if
        the server is away for longer than `retry_for`, or for the rest of `timeout`. Nothing is
        lost then. Call wait() again.
        """
        return self.run(
            self.flows.wait(delivery_id, timeout=timeout, must_wait=must_wait, digest=digest)
        )

    def ask(
        self,
        headline: str,
        summary: str,
        *,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Answer:
        """Delivers a question and waits for the answer, as deliver() and wait() do.

        `timeout` is how long this call waits; `timeout_seconds` is the deadline that people see. If
        a rule of the team makes the agent wait, waiting goes on after the deadline.
        """
        return self.run(
            self.flows.ask(
                headline, summary, optional, timeout=timeout, idempotency_key=idempotency_key
            )
        )

    def withdraw(self, delivery_id: str, reason: str | None = None) -> Withdrawal:
        """Takes a delivery that no longer needs an answer out of the inbox. People see the reason.

        Raises AlreadyAnswered if a person was faster. Read the answer then.
        """
        return self.run(self.flows.withdraw(delivery_id, reason=reason))

    def claim(self, delivery_id: str, *, digest: str, idempotency_key: str | None = None) -> Claim:
        """Uses an approval, just before you act on it. `digest` comes from the receipt. Pass an
        `idempotency_key` only to repeat the same attempt to act, for example after a restart. Never
        derive the key from the delivery's id: each claim with that key would return the first claim
        again.

        Raises NotClaimed if the approval was used before, is missing, is for something else, or
        came too late. Do not act then.
        """
        return self.run(
            self.flows.claim(delivery_id, digest=digest, idempotency_key=idempotency_key)
        )

    def report(
        self,
        delivery_id: str,
        status: OutcomeStatus,
        summary: str | None = None,
        *,
        details: dict[str, Any] | str | None = None,
    ) -> Outcome:
        """Tells people what came of a delivery: "done", "failed" or "skipped", with one line of up
        to 280 characters."""
        return self.run(self.flows.report(delivery_id, status, summary=summary, details=details))

    def extensions(self) -> frozenset[str]:
        """Returns the names of the server's extensions, such as "claim"."""
        return self.run(self.flows.extensions())

    def sweep(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = (),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> Sweep:
        """Returns one page of the answers after `since`. If there are none, the server waits for up
        to `wait` seconds (at most 25)."""
        return self.run(self.flows.sweep(since=since, status=status, limit=limit, wait=wait))

    def responses(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = ("approved", "rejected", "redirected"),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> Responses:
        """Iterates over the answers of all pages. Store `next_since` of the returned object for the
        next sweep."""
        return Responses(self, since, status, limit, wait)

    def book(self, path: str | os.PathLike[str]) -> Book:
        """Returns the book in which a program records its questions, so that it finds them after a
        restart."""
        return Book(self, path)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, flow: Flow[Result]) -> Result:
        """Sends the requests of a flow (http/flows.py) and returns its result. The adapters have
        flows of several requests."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    self._sleep(step.seconds)
                    step = next(flow)
                    continue
                try:
                    response = self._http.request(**step.arguments)
                except httpx.RequestError as failure:
                    step = flow.throw(failure)
                else:
                    step = flow.send(response)
        except StopIteration as end:
            result: Result = end.value
            return result


class Responses(Iterator[Answer]):
    """Iterates over a sweep, page by page.

    `next_since` moves on only after a whole page. A program that stops in the middle of a page gets
    that whole page again the next time.
    """

    def __init__(
        self,
        client: WakeClient,
        since: str | None,
        status: tuple[Status, ...],
        limit: int,
        wait: int,
    ) -> None:
        self.next_since = since
        self._answers = self._pages(client, status, limit, wait)

    def __next__(self) -> Answer:
        return next(self._answers)

    def _pages(
        self, client: WakeClient, status: tuple[Status, ...], limit: int, wait: int
    ) -> Iterator[Answer]:
        has_more = True
        while has_more:
            page = client.sweep(since=self.next_since, status=status, limit=limit, wait=wait)
            yield from page.answers
            self.next_since, has_more, wait = page.next_since, page.has_more, 0
