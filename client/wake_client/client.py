"""Sends the requests of the flows: WakeClient blocks, AsyncWakeClient awaits."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from wake_client.answers import Answer, Blob, Receipt, Status, Sweep, Type, Withdrawal
from wake_client.book import AsyncBook, Book
from wake_client.errors import WakeError
from wake_client.http import addresses, keys
from wake_client.http.flows import Flow, Flows, OptionalFields, Pause, Result, Unsent
from wake_client.uploads import Source
from wake_client.version import __version__

RETRY_FOR_SECONDS = 120.0
MAX_ROWS = 200


class WakeClient:
    """Delivers for one agent, with its key, and waits for answers. Use it in one thread at a time.

    `endpoint` is the server's address, with or without `/wake/v1`. It must be https, except on this
    machine. A request is tried again for up to `retry_for` seconds while the server is away (no
    connection, 502 to 504) or asks to wait (429). `transport`, `sleep` and `now` are for tests.

    The constructor raises ValueError for an endpoint or a key that cannot be valid. Every method
    raises WakeError.
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
        self._http = httpx.Client(**_options(endpoint, key), transport=transport)
        self._flows = Flows(agent_id, provider, retry_for, now)
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
        """Delivers to people. A request whose response was lost is sent again, and never delivers
        twice.

        `headline` and `summary` are one line each, of up to 120 and 280 characters. Pass an
        `idempotency_key` if your program may be started again for the same work.
        """
        return self._run(
            self._flows.deliver(type, headline, summary, optional, idempotency_key=idempotency_key)
        )

    def deliver_many(
        self, deliveries: Sequence[Unsent], *, atomic: bool = False
    ) -> list[Receipt | WakeError]:
        """Delivers up to 50 in one request; returns a receipt or an error for each, in order.

        One that is refused stops no other. With `atomic` either all are stored or none, and the
        method raises the error of the one that was refused.
        """
        return self._run(self._flows.deliver_many(deliveries, atomic=atomic))

    def upload(self, source: Source, *, media_type: str = "") -> Blob:
        """Stores a file (a path, or bytes) for blocks.image() and blocks.file(). PNG, JPEG, WebP
        and GIF are pictures, unless you name a type such as "application/octet-stream"."""
        return self._run(self._flows.upload(source, media_type=media_type))

    def response(self, delivery_id: str) -> Answer:
        """Returns the answer as it is now, without waiting."""
        return self._run(self._flows.response(delivery_id))

    def wait(
        self, delivery_id: str, *, timeout: float | None = None, must_wait: bool = False
    ) -> Answer:
        """Waits until a person answers or the delivery expires, or for `timeout` seconds.

        Pass the `must_wait` of the receipt: if it is true, the deadline ends nothing, and the
        answer is never `expired` while it is pending.

        Look at the `status` of the answer: it may still be "pending". Raises Unavailable if the
        server is away for longer than `retry_for`, or than the rest of `timeout`. Nothing is lost
        then; call it again.
        """
        return self._run(self._flows.wait(delivery_id, timeout=timeout, must_wait=must_wait))

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
        a rule of the team makes the agent wait, the deadline ends nothing.
        """
        return self._run(
            self._flows.ask(
                headline, summary, optional, timeout=timeout, idempotency_key=idempotency_key
            )
        )

    def withdraw(self, delivery_id: str, reason: str | None = None) -> Withdrawal:
        """Takes a delivery out of the inbox that needs no answer any more; people see the reason.

        Raises AlreadyAnswered if a person was faster: read the answer then.
        """
        return self._run(self._flows.withdraw(delivery_id, reason=reason))

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
        return self._run(self._flows.sweep(since=since, status=status, limit=limit, wait=wait))

    def responses(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = ("approved", "rejected", "redirected"),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> Responses:
        """Iterates over the answers of all pages. Store its `next_since` for the next sweep."""
        return Responses(self, since, status, limit, wait)

    def book(self, path: str | os.PathLike[str]) -> Book:
        """Returns the questions that a program remembers in a file, for after a restart."""
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

    def _run(self, flow: Flow[Result]) -> Result:
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
    all of that page again the next time.
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


class AsyncWakeClient:
    """Does the same as WakeClient, for asyncio: its methods are awaited."""

    def __init__(
        self,
        endpoint: str,
        key: str,
        *,
        agent_id: str,
        provider: str = "custom",
        retry_for: float = RETRY_FOR_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = httpx.AsyncClient(**_options(endpoint, key), transport=transport)
        self._flows = Flows(agent_id, provider, retry_for, now)
        self._sleep = sleep

    async def deliver(
        self,
        type: Type,
        headline: str,
        summary: str,
        *,
        idempotency_key: str | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Receipt:
        """Does the same as WakeClient.deliver."""
        return await self._run(
            self._flows.deliver(type, headline, summary, optional, idempotency_key=idempotency_key)
        )

    async def deliver_many(
        self, deliveries: Sequence[Unsent], *, atomic: bool = False
    ) -> list[Receipt | WakeError]:
        """Does the same as WakeClient.deliver_many."""
        return await self._run(self._flows.deliver_many(deliveries, atomic=atomic))

    async def upload(self, source: Source, *, media_type: str = "") -> Blob:
        """Does the same as WakeClient.upload."""
        return await self._run(self._flows.upload(source, media_type=media_type))

    async def response(self, delivery_id: str) -> Answer:
        """Returns the answer as it is now, without waiting."""
        return await self._run(self._flows.response(delivery_id))

    async def wait(
        self, delivery_id: str, *, timeout: float | None = None, must_wait: bool = False
    ) -> Answer:
        """Does the same as WakeClient.wait."""
        return await self._run(self._flows.wait(delivery_id, timeout=timeout, must_wait=must_wait))

    async def ask(
        self,
        headline: str,
        summary: str,
        *,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Answer:
        """Does the same as WakeClient.ask."""
        return await self._run(
            self._flows.ask(
                headline, summary, optional, timeout=timeout, idempotency_key=idempotency_key
            )
        )

    async def withdraw(self, delivery_id: str, reason: str | None = None) -> Withdrawal:
        """Does the same as WakeClient.withdraw."""
        return await self._run(self._flows.withdraw(delivery_id, reason=reason))

    def book(self, path: str | os.PathLike[str]) -> AsyncBook:
        """Does the same as WakeClient.book, with methods to be awaited."""
        return AsyncBook(self, path)

    async def sweep(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = (),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> Sweep:
        """Does the same as WakeClient.sweep."""
        return await self._run(
            self._flows.sweep(since=since, status=status, limit=limit, wait=wait)
        )

    def responses(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = ("approved", "rejected", "redirected"),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> AsyncResponses:
        """Does the same as WakeClient.responses, for `async for`."""
        return AsyncResponses(self, since, status, limit, wait)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, flow: Flow[Result]) -> Result:
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = next(flow)
                    continue
                try:
                    response = await self._http.request(**step.arguments)
                except httpx.RequestError as failure:
                    step = flow.throw(failure)
                else:
                    step = flow.send(response)
        except StopIteration as end:
            result: Result = end.value
            return result


class AsyncResponses(AsyncIterator[Answer]):
    """Iterates over a sweep as Responses does."""

    def __init__(
        self,
        client: AsyncWakeClient,
        since: str | None,
        status: tuple[Status, ...],
        limit: int,
        wait: int,
    ) -> None:
        self.next_since = since
        self._answers = self._pages(client, status, limit, wait)

    async def __anext__(self) -> Answer:
        return await anext(self._answers)

    async def _pages(
        self, client: AsyncWakeClient, status: tuple[Status, ...], limit: int, wait: int
    ) -> AsyncIterator[Answer]:
        has_more = True
        while has_more:
            page = await client.sweep(since=self.next_since, status=status, limit=limit, wait=wait)
            for answer in page.answers:
                yield answer
            self.next_since, has_more, wait = page.next_since, page.has_more, 0


def _options(endpoint: str, key: str) -> dict[str, Any]:
    """Returns the arguments of httpx.Client and httpx.AsyncClient. Raises ValueError."""
    return {
        "base_url": addresses.api(endpoint),
        "headers": {
            "Authorization": f"Bearer {keys.checked(key)}",
            "User-Agent": f"wake-client/{__version__}",
        },
        "follow_redirects": False,
    }
