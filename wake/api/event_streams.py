"""Sends chunks after a view has returned, without holding the view's thread or database connection.

A view is synchronous: it authenticates, reads and answers like any other. The view hands over a
stream that sends events later. Django then ends the request as usual. Only the event loop is left,
so an idle stream costs no more than one of its tasks
(docs/decisions/0036-streams-are-tasks-of-the-event-loop.md).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Protocol, TypeVar

from channels.db import database_sync_to_async
from django.http import HttpRequest, HttpResponse

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

Result = TypeVar("Result")

KEY = "wake.event_stream"
CONTENT_TYPE = b"text/event-stream"
# A client that does not read for this long is disconnected. Otherwise its stream would stay open
# forever.
SEND_SECONDS = 60.0
# This is a comment, which readers skip. It is sent because proxies end a connection that is silent
# for a minute.
HEARTBEAT = b": still here\n\n"
HEARTBEAT_SECONDS = 15.0


class CannotStream(Exception):
    """This server process does not stream: the proxy must route calls of agents to `up stream`."""


class Stream(Protocol):
    """Sends chunks until it ends. `close` is called once, even if the stream never began."""

    def chunks(self) -> AsyncGenerator[bytes, None]: ...

    def close(self) -> None: ...


class EventStreams:
    """Wraps Django, and sends the streams that its views hand over."""

    def __init__(self, app: App, *, seconds: float = SEND_SECONDS) -> None:
        """`seconds` is the longest time that a client may take for one chunk."""
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        handed_over = _HandedOver()
        try:
            await self.app(scope | {KEY: handed_over}, receive, handed_over.keep_open(send))
        finally:
            stream = handed_over.end()
        if stream is not None:
            await _send(stream, receive, send, seconds=self.seconds)


def check(request: HttpRequest) -> None:
    """Raises CannotStream in a process without an event loop of its own (`up web`)."""
    if KEY not in getattr(request, "scope", {}):
        raise CannotStream(CannotStream.__doc__)


async def in_thread(work: Callable[[], Result]) -> Result:
    """Runs a database query in any free thread, which returns its connection immediately. Otherwise
    all streams of the process would share Django's single thread for thread-sensitive code."""
    result: Result = await database_sync_to_async(work, thread_sensitive=False)()
    return result


def hand_over(request: HttpRequest, stream: Stream) -> HttpResponse:
    """Returns the response that begins a stream. The view returns it, perhaps with further
    headers."""
    request.scope[KEY].take(stream)  # type: ignore[attr-defined]  # of ASGIRequest
    response = whole(b"")
    response["X-Accel-Buffering"] = "no"  # otherwise nginx collects events until it has 4 kB
    return response


def whole(chunk: bytes) -> HttpResponse:
    """Returns a stream that consists of this chunk, and that every process can send."""
    response = HttpResponse(chunk, content_type=CONTENT_TYPE.decode())
    response["Cache-Control"] = "no-store"
    return response


class _HandedOver:
    """Takes the stream of one request from the thread of its view. If the client has left in the
    meantime, the stream is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        self._has_ended = self._has_begun = False

    def take(self, stream: Stream) -> None:
        with self._lock:
            if not self._has_ended:
                self._stream = stream
                return
        stream.close()

    def keep_open(self, send: Send) -> Send:
        """Returns the `send` that Django calls. If the response has a stream, this `send` does not
        end the response."""

        async def send_and_keep_open(message: Message) -> None:
            if self._stream is not None and message["type"] == "http.response.start":
                headers = dict(message["headers"])
                self._has_begun = headers.get(b"Content-Type", b"").startswith(CONTENT_TYPE)
                others = [one for one in message["headers"] if one[0].lower() != b"content-length"]
                message = {**message, "headers": others} if self._has_begun else message
            elif self._has_begun:
                message = {**message, "more_body": True}
            await send(message)

        return send_and_keep_open

    def end(self) -> Stream | None:
        """Returns the stream if its response has begun, and closes it otherwise."""
        with self._lock:
            self._has_ended = True
            stream, self._stream = self._stream, None
        if stream is not None and not self._has_begun:
            stream.close()
            return None
        return stream


async def _send(stream: Stream, receive: Receive, send: Send, *, seconds: float) -> None:
    """Sends a stream until the stream ends, the client has left, or the client reads no more."""
    sending = asyncio.create_task(_send_all(stream, send, seconds=seconds))
    leaving = asyncio.create_task(until_left(receive))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.wait({sending, leaving})
        stream.close()
    failure = None if sending.cancelled() else sending.exception()
    if failure is not None and not isinstance(failure, TimeoutError | OSError):
        raise failure


async def _send_all(stream: Stream, send: Send, *, seconds: float) -> None:
    async with aclosing(stream.chunks()) as chunks:
        async for chunk in chunks:
            async with asyncio.timeout(seconds):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def until_left(receive: Receive) -> None:
    """Waits until the client has left. Sending to a disconnected client raises no error."""
    with suppress(OSError):  # the connection is gone, as a disconnected client's would be
        while (await receive())["type"] != "http.disconnect":
            pass
