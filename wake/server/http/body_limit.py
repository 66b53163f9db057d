"""Cuts off a request body that is too large while it arrives.

Under ASGI, Django writes the whole body to the disk before any view, middleware or parser can look
at it, so without this anybody could fill the disk. (Under WSGI it is read by whoever asks for it.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from wake import errors

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

# Most clients send all they have before they read: the answer would be lost to them with the
# connection, so what comes is thrown away first. Somebody who sends more, or slowly, is cut off.
DRAINED_AT_MOST = 8 * 2**20
# Where agents are called, and where their connectors report.
A2A = ("/@", "/connect/")
DRAIN_SECONDS = 5.0


class BodyLimit:
    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_protocol = scope["path"].startswith(("/wake/", *A2A))
        limit = _limit(scope["path"])
        body = _Counted(receive, limit)
        declared = _declared_length(scope)
        if declared <= limit:
            await self.app(scope, body.receive, body.noticed(send))
            if body.is_answered:
                return
        if body.is_cut_off:
            # Django leaves such a request unanswered, and the server would make a 500 of that.
            refusal = errors.plain_error(400, "malformed", "The body ended too early.")
        elif is_protocol:
            refusal = errors.plain_error(413, "body_too_large")
        else:
            refusal = HttpResponse("This form is too large.", status=413, content_type="text/plain")
        if declared <= DRAINED_AT_MOST:
            await body.drain()
        await _send(refusal, send)


def _limit(path: str) -> int:
    if path.startswith("/wake/"):
        return settings.WAKE_MAX_BODY_BYTES
    if path.startswith(A2A):
        return settings.WAKE_MAX_A2A_BYTES
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


class _Counted:
    """The body as Django receives it; past the limit it hears that the client has gone, and gives
    up."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self.is_over = self.is_cut_off = self.is_answered = False

    async def receive(self) -> Message:
        message = await self._next()
        return {"type": "http.disconnect"} if self._left < 0 else message

    async def drain(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_over and self._left > -DRAINED_AT_MOST:
                    await self._next()

    async def _next(self) -> Message:
        message = await self._receive()
        self.is_cut_off |= message["type"] == "http.disconnect"
        self.is_over |= not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        return message

    def noticed(self, send: Send) -> Send:
        async def notice(message: Message) -> None:
            self.is_answered = True
            await send(message)

        return notice


def _declared_length(scope: dict[str, Any]) -> int:
    """0 where it is not declared: then the bytes are counted."""
    text = dict(scope["headers"]).get(b"content-length", b"0")
    return int(text) if text.isdigit() else 0


async def _send(response: HttpResponse, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    # What is still on its way is not read: the connection cannot be used again.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
