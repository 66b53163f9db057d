"""A stream lives longer than its view, and gives back what it holds, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from wake.api import event_streams
from wake.api.event_streams import EventStreams, Message, Receive, Send

START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"Content-Type", b"text/event-stream"), (b"Content-Length", b"0")],
}


class Ticks:
    """Sends some chunks, and then waits or fails."""

    def __init__(self, *chunks: bytes, fails: bool = False, stays: bool = False) -> None:
        self.given, self.fails, self.stays = chunks, fails, stays
        self.closes = 0
        self.has_ended = False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            for chunk in self.given:
                yield chunk
            if self.fails:
                raise ValueError("a mistake")
            if self.stays:
                await asyncio.sleep(60)
        finally:
            self.has_ended = True

    def close(self) -> None:
        self.closes += 1


def app_with(stream: Ticks, *, start: Any = START) -> Any:
    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        request: Any = SimpleNamespace(scope=scope)
        event_streams.check(request)
        event_streams.hand_over(request, stream)
        if start:
            await send(start)
            await send({"type": "http.response.body", "body": b""})

    return app


@async_to_sync
async def call(
    app: Any,
    *,
    leaves: Callable[[list[Message]], bool] = lambda sent: False,
    stalls: bool = False,
    **limits: float,
) -> list[Message]:
    """Calls the application and returns what it sent. The client leaves as soon as `leaves` is
    true."""
    sent: list[Message] = []

    async def receive() -> Message:
        while not leaves(sent):
            await asyncio.sleep(0.005)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if stalls and message.get("body"):
            await asyncio.sleep(60)

    async with asyncio.timeout(20):
        await EventStreams(app, **limits)({"type": "http"}, receive, send)
    return sent


def bodies(sent: list[Message]) -> list[tuple[bytes, bool]]:
    return [(one["body"], one.get("more_body", False)) for one in sent[1:]]


def test_a_stream_follows_its_response() -> None:
    stream = Ticks(b"one", b"two")

    sent = call(app_with(stream))

    assert sent[0]["headers"] == [(b"Content-Type", b"text/event-stream")]
    assert bodies(sent) == [(b"", True), (b"one", True), (b"two", True), (b"", False)]
    assert stream.closes == 1


def test_a_stream_ends_when_the_client_leaves() -> None:
    stream = Ticks(b"one", stays=True)

    sent = call(app_with(stream), leaves=lambda sent: len(sent) == 3)

    assert bodies(sent) == [(b"", True), (b"one", True)]
    assert (stream.closes, stream.has_ended) == (1, True)


def test_a_connection_that_breaks_ends_its_stream() -> None:
    stream = Ticks(b"one", stays=True)

    def break_it(sent: list[Message]) -> bool:
        if len(sent) == 3:
            raise ConnectionResetError
        return False

    sent = call(app_with(stream), leaves=break_it)

    assert bodies(sent) == [(b"", True), (b"one", True)]
    assert (stream.closes, stream.has_ended) == (1, True)


def test_a_client_that_reads_nothing_is_cut_off() -> None:
    stream = Ticks(b"one", b"two")

    sent = call(app_with(stream), stalls=True, seconds=0.02)

    assert bodies(sent) == [(b"", True), (b"one", True)]
    assert (stream.closes, stream.has_ended) == (1, True)


def test_a_stream_that_fails_is_closed_and_its_failure_is_not_hidden() -> None:
    stream = Ticks(b"one", fails=True)

    with pytest.raises(ValueError, match="a mistake"):
        call(app_with(stream))

    assert stream.closes == 1


@pytest.mark.parametrize(
    "start",
    [None, {**START, "status": 500, "headers": [(b"Content-Type", b"text/html")]}],
    ids=["a client that left", "another answer"],
)
def test_a_response_that_never_began_closes_its_stream(start: Any) -> None:
    stream = Ticks(b"one")

    sent = call(app_with(stream, start=start))

    assert b"one" not in [one.get("body") for one in sent]
    assert not any(one.get("more_body") for one in sent)
    assert (stream.closes, stream.has_ended) == (1, False)


def test_a_view_that_ends_after_its_client_has_left_closes_its_stream() -> None:
    stream, scopes = Ticks(b"one"), []

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        scopes.append(scope)

    call(app)
    event_streams.hand_over(SimpleNamespace(scope=scopes[0]), stream)  # type: ignore[arg-type]

    assert stream.closes == 1


def test_a_request_without_an_event_loop_cannot_stream() -> None:
    with pytest.raises(event_streams.CannotStream, match="up stream"):
        event_streams.check(SimpleNamespace())  # type: ignore[arg-type]
