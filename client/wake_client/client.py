"""The client that blocks, and the one that awaits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from wake_client import addresses, keys
from wake_client.answers import Answer, Receipt, Status, Sweep, Type
from wake_client.flows import Ask, Flow, Flows, OptionalFields, Pause

RETRY_FOR = 120.0
MOST_ROWS = 200

Made = TypeVar("Made")


class WakeClient:
    """One agent, with its key.

    `endpoint` is the server, with or without `/wake/v1`; https, unless it is on this machine.
    `retry_for` is for how many seconds a request is tried again when the server is away (502 to
    504, no connection) or asks for time (429). `transport`, `sleep` and `now` are for tests. Use
    it in one thread at a time. Every method raises WakeError, and this one ValueError for an
    endpoint or a key that cannot be one.
    """

    def __init__(
        self,
        endpoint: str,
        key: str,
        *,
        agent_id: str,
        provider: str = "custom",
        retry_for: float = RETRY_FOR,
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
        """Hands it to people; a lost answer is asked for again and never delivers twice.

        `headline` up to 120 and `summary` up to 280 characters, each one line. Give an
        `idempotency_key` of your own where your program may be started again for the same work.
        """
        return self._run(
            self._flows.deliver(type, headline, summary, optional, idempotency_key=idempotency_key)
        )

    def response(self, delivery_id: str) -> Answer:
        """As it is now."""
        return self._run(self._flows.response(delivery_id))

    def wait(self, delivery_id: str, *, timeout: float | None = None) -> Answer:
        """Until a person answered, the delivery's window passed (`expired`) or `timeout` seconds
        are over; without both, for ever. Look at the `status` of what it returns. A server that is
        away for longer than `retry_for`, or than what is left of `timeout`, raises Unavailable:
        call it again, nothing is lost."""
        return self._run(self._flows.wait(delivery_id, timeout=timeout))

    def sweep(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = (),
        limit: int = MOST_ROWS,
        wait: int = 0,
    ) -> Sweep:
        """One page of what happened after `since`; `wait`: up to 25 seconds until there is
        something."""
        return self._run(self._flows.sweep(since=since, status=status, limit=limit, wait=wait))

    def responses(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = ("approved", "rejected", "redirected"),
        limit: int = MOST_ROWS,
        wait: int = 0,
    ) -> Responses:
        """All pages of a sweep, one answer after the other. Keep its `next_since` for the next."""
        return Responses(self, since, status, limit, wait)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, flow: Flow[Made]) -> Made:
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    self._sleep(step.seconds)
                    step = next(flow)
                    continue
                try:
                    response = self._http.request(**_request(step))
                except httpx.RequestError as failure:
                    step = flow.throw(failure)
                else:
                    step = flow.send(response)
        except StopIteration as end:
            made: Made = end.value
            return made


class Responses(Iterator[Answer]):
    """A sweep. `next_since` moves on only behind a page that was taken whole, so that whoever
    stops in the middle is given the rest, and some of it twice, the next time."""

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
    """WakeClient for asyncio: the same methods, awaited."""

    def __init__(
        self,
        endpoint: str,
        key: str,
        *,
        agent_id: str,
        provider: str = "custom",
        retry_for: float = RETRY_FOR,
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
        """As WakeClient.deliver."""
        return await self._run(
            self._flows.deliver(type, headline, summary, optional, idempotency_key=idempotency_key)
        )

    async def response(self, delivery_id: str) -> Answer:
        """As it is now."""
        return await self._run(self._flows.response(delivery_id))

    async def wait(self, delivery_id: str, *, timeout: float | None = None) -> Answer:
        """As WakeClient.wait."""
        return await self._run(self._flows.wait(delivery_id, timeout=timeout))

    async def sweep(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = (),
        limit: int = MOST_ROWS,
        wait: int = 0,
    ) -> Sweep:
        """As WakeClient.sweep."""
        return await self._run(
            self._flows.sweep(since=since, status=status, limit=limit, wait=wait)
        )

    def responses(
        self,
        *,
        since: str | None = None,
        status: tuple[Status, ...] = ("approved", "rejected", "redirected"),
        limit: int = MOST_ROWS,
        wait: int = 0,
    ) -> AsyncResponses:
        """As WakeClient.responses, for `async for`."""
        return AsyncResponses(self, since, status, limit, wait)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, flow: Flow[Made]) -> Made:
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = next(flow)
                    continue
                try:
                    response = await self._http.request(**_request(step))
                except httpx.RequestError as failure:
                    step = flow.throw(failure)
                else:
                    step = flow.send(response)
        except StopIteration as end:
            made: Made = end.value
            return made


class AsyncResponses(AsyncIterator[Answer]):
    """As Responses."""

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
    """Of both kinds of httpx client. Raises ValueError for an address or a key that cannot be."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ValueError("A key is one line of plain characters, as it was shown once.")
    return {
        "base_url": addresses.api(endpoint),
        "headers": {"Authorization": f"Bearer {keys.checked(key)}"},
        "follow_redirects": False,
    }


def _request(ask: Ask) -> dict[str, Any]:
    return {
        "method": ask.method,
        "url": ask.path,
        "params": dict(ask.params),
        "headers": dict(ask.headers),
        "json": ask.body,
        "timeout": ask.timeout,
    }
