"""Works like WakeClient, for asyncio."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
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
from wake_client.book import AsyncBook
from wake_client.errors import WakeError
from wake_client.http.flows import Flow, Flows, OptionalFields, Pause, Result, Unsent
from wake_client.http.options import MAX_ROWS, RETRY_FOR_SECONDS, options
from wake_client.uploads import Source


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
        self._http = httpx.AsyncClient(**options(endpoint, key), transport=transport)
        self.flows = Flows(agent_id, provider, retry_for, now)
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
        """Works like WakeClient.deliver."""
        return await self.run(
            self.flows.deliver(type, headline, summary, optional, idempotency_key=idempotency_key)
        )

    async def deliver_many(
        self, deliveries: Sequence[Unsent], *, atomic: bool = False
    ) -> list[Receipt | WakeError]:
        """Works like WakeClient.deliver_many."""
        return await self.run(self.flows.deliver_many(deliveries, atomic=atomic))

    async def upload(self, source: Source, *, media_type: str = "") -> Blob:
        """Works like WakeClient.upload."""
        return await self.run(self.flows.upload(source, media_type=media_type))

    async def response(self, delivery_id: str) -> Answer:
        """Returns the answer as it is now, without waiting."""
        return await self.run(self.flows.response(delivery_id))

    async def wait(
        self,
        delivery_id: str,
        *,
        timeout: float | None = None,
        must_wait: bool = False,
        digest: str | None = None,
    ) -> Answer:
        """Works like WakeClient.wait."""
        return await self.run(
            self.flows.wait(delivery_id, timeout=timeout, must_wait=must_wait, digest=digest)
        )

    async def ask(
        self,
        headline: str,
        summary: str,
        *,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Answer:
        """Works like WakeClient.ask."""
        return await self.run(
            self.flows.ask(
                headline, summary, optional, timeout=timeout, idempotency_key=idempotency_key
            )
        )

    async def withdraw(self, delivery_id: str, reason: str | None = None) -> Withdrawal:
        """Works like WakeClient.withdraw."""
        return await self.run(self.flows.withdraw(delivery_id, reason=reason))

    async def claim(
        self, delivery_id: str, *, digest: str, idempotency_key: str | None = None
    ) -> Claim:
        """Works like WakeClient.claim."""
        return await self.run(
            self.flows.claim(delivery_id, digest=digest, idempotency_key=idempotency_key)
        )

    async def report(
        self,
        delivery_id: str,
        status: OutcomeStatus,
        summary: str | None = None,
        *,
        details: dict[str, Any] | str | None = None,
    ) -> Outcome:
        """Works like WakeClient.report."""
        return await self.run(
            self.flows.report(delivery_id, status, summary=summary, details=details)
        )

    async def extensions(self) -> frozenset[str]:
        """Works like WakeClient.extensions."""
        return await self.run(self.flows.extensions())

    def book(self, path: str | os.PathLike[str]) -> AsyncBook:
        """Works like WakeClient.book, with methods to be awaited."""
        return AsyncBook(self, path)

    async def sweep(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = (),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> Sweep:
        """Works like WakeClient.sweep."""
        return await self.run(self.flows.sweep(since=since, status=status, limit=limit, wait=wait))

    def responses(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = ("approved", "rejected", "redirected"),
        limit: int = MAX_ROWS,
        wait: int = 0,
    ) -> AsyncResponses:
        """Works like WakeClient.responses, for `async for`."""
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

    async def run(self, flow: Flow[Result]) -> Result:
        """Works like WakeClient.run."""
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
