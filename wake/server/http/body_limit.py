"""Cuts off a request body that is too large, or too slow, while it arrives.

Django writes the whole body to the disk before any view, middleware or parser sees it. Without this
limit, anyone could fill the disk, or hold connections open with one byte each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from wake.api.long_poll import ARRIVED
from wake.api.parsers import declared_length
from wake.server.http.machine_errors import machine_error
from wake.server.http.machine_paths import PAGE_LIMIT, row_of

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

# Most clients send the whole body before they read the answer. If the connection were closed at
# once, they would not get the answer. So the rest of the body is read and discarded first. A client
# that exceeds the limit by more than this, or sends slowly, is disconnected.
MAX_DRAINED_BYTES = 8 * 2**20
DRAIN_SECONDS = 5.0
BODY = {b"content-length", b"transfer-encoding"}
# For each multiple of this number of bytes, the time of settings.BODY_SECONDS becomes one second
# longer.
BYTES_A_SECOND = 2**16


def has_no_body(scope: Mapping[str, Any]) -> bool:
    """Returns whether a request certainly has no body (RFC 9112, section 6.3). Then nothing needs
    to be received, which saves a turn of the event loop."""
    headers = scope["headers"]
    return scope["method"] in {"GET", "HEAD"} and not any(name in BODY for name, _ in headers)


class BodyLimit:
    """Wraps an ASGI application and refuses bodies that are too large or too slow."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[ARRIVED] = time.monotonic()
        if has_no_body(scope):
            await self.app(scope, receive, send)
            return
        row = row_of(scope["path"])
        limit = getattr(settings, row.body_limit if row else PAGE_LIMIT)
        headers = dict(scope["headers"])
        declared = declared_length(headers.get(b"content-length", b""))
        is_chunked = b"transfer-encoding" in headers
        longest = limit if is_chunked else declared
        seconds = float(settings.BODY_SECONDS) + longest / BYTES_A_SECOND
        body = _Counted(receive, limit, seconds, length=0 if is_chunked else declared)
        if declared <= limit:
            await self.app(scope, body.receive, body.record_answer(send))
            if body.is_answered:
                return
        if body.is_late:
            refusal = machine_error(scope["path"], 408, "body_too_slow")
        elif body.is_cut_off:
            # Django does not answer such a request, and the server would then send a 500.
            message = "The body ended too early."
            refusal = machine_error(scope["path"], 400, "malformed", message)
        elif row is not None:
            refusal = machine_error(scope["path"], 413, "body_too_large")
        else:
            refusal = HttpResponse("This form is too large.", status=413, content_type="text/plain")
        if declared <= limit + MAX_DRAINED_BYTES and not body.is_late:
            await body.drain()
        # The rest of the body is not read, so the connection cannot be used again.
        refusal["Connection"] = "close"
        await send_response(refusal, send)


class _Counted:
    """Counts the body while Django receives it. Past the size or time limit, it tells Django that
    the client has disconnected. The body ends after `length` bytes, unless that is 0."""

    def __init__(self, receive: Receive, limit: int, seconds: float, *, length: int) -> None:
        self._receive = receive
        self._left = limit
        self._left_at_end = limit - length if length else None
        self._until = asyncio.get_running_loop().time() + seconds
        self.is_over = self.is_cut_off = self.is_late = self.is_answered = False

    async def receive(self) -> Message:
        if self.is_over:
            return await self._disconnect()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._next()
        except TimeoutError:
            self.is_late = True
        return {"type": "http.disconnect"} if self.is_late or self._left < 0 else message

    async def _disconnect(self) -> Message:
        """Waits for the client to leave, which may be much later."""
        while (message := await self._receive())["type"] == "http.request":
            pass  # granian ends each body with an empty message
        return message

    async def drain(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_over and self._left > -MAX_DRAINED_BYTES:
                    await self._next()

    async def _next(self) -> Message:
        message = await self._receive()
        self.is_cut_off |= message["type"] == "http.disconnect"
        self._left -= len(message.get("body", b""))
        if self._left == self._left_at_end:  # the empty message would cost a turn of the loop
            message = {**message, "more_body": False}
        self.is_over |= not message.get("more_body", False)
        return message

    def record_answer(self, send: Send) -> Send:
        async def send_and_record(message: Message) -> None:
            self.is_answered = True
            await send(message)

        return send_and_record


async def send_response(response: HttpResponse, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
