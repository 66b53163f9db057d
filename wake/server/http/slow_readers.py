"""Disconnects clients that do not read their answer, and returns the database connection before the
answer is sent.

A long answer waits for its client, who may read one byte a minute. Without a deadline, a few such
clients would hold every connection of the pool, and the memory of their answers, forever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from django.db import close_old_connections, connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from wake.server.http.body_limit import BYTES_A_SECOND, App, Message, Receive, Send

# An answer may wait this long for its client, and one more second for each 64 kB that the client
# has read.
SEND_SECONDS = 60.0


class ConnectionGivenBack:
    """Gives the thread's connection to the database back when the answer is complete. Django
    returns the connection only after the client has read the answer. A streamed answer returns the
    connection between its parts (pages/streaming.py)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # Tests run in a transaction around the request.
        if not (response.streaming or connection.in_atomic_block):
            close_old_connections()
        return response


class SlowReaders:
    """Wraps an ASGI application, and ends answers that their clients do not read."""

    def __init__(self, app: App, *, seconds: float | None = None) -> None:
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: dict[str, object], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send, SEND_SECONDS if self.seconds is None else self.seconds)
        try:
            await self.app(scope, receive, answer.send)
        except TimeoutError:
            if not answer.is_late:
                raise


class _Answer:
    """Measures how long an answer has waited for its client, without the time that the server
    took."""

    def __init__(self, send: Send, seconds: float) -> None:
        self._send = send
        self._seconds_left = seconds
        self._has_parts = self.is_late = False

    async def send(self, message: Message) -> None:
        """Sends a part of the answer. Raises TimeoutError if the client reads too slowly."""
        self._has_parts |= message.get("more_body", False)
        if not self._has_parts:  # the server takes the whole answer at once
            await self._send(message)
            return
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        try:
            async with asyncio.timeout(self._seconds_left):
                await self._send(message)
        except TimeoutError:
            self.is_late = True
            raise
        self._seconds_left += len(message.get("body", b"")) / BYTES_A_SECOND
        self._seconds_left -= loop.time() - began_at
