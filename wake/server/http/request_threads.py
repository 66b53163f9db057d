"""Runs the WSGI application in threads, behind an ASGI server.

A request gets a thread only when its whole body has arrived. A WSGI server reads the body inside
the thread. So a few slow clients, one for each thread, would stop such a server. The number of
requests that run at the same time is limited by their turns (wake/server/http/request_turns.py).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.db import close_old_connections

from database.turns import another_turn
from wake.api.event_streams import until_left
from wake.api.long_poll import ARRIVED
from wake.server.http.body_limit import Receive, Send, has_no_body
from wake.server.http.request_turns import HEALTH

WsgiApp = Callable[[dict[str, Any], Any], Iterable[bytes]]
Headers = list[tuple[bytes, bytes]]

MAX_BYTES_IN_MEMORY = 2**18
PART_BYTES = 2**16
# Threads are started only when they are needed. A request that waits for something else than its
# turn, such as a long poll, has a thread.
MAX_THREADS = 1_000


class RequestThreads:
    def __init__(self, app: WsgiApp) -> None:
        self.app = app
        self.threads = ThreadPoolExecutor(MAX_THREADS, "request")
        # A slow database may hold all other threads.
        self.health = {path: ThreadPoolExecutor(1, path) for path in HEALTH}

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Reads the body, then answers. Sends nothing if the client disconnects first."""
        threads = self.health.get(scope["path"], self.threads)
        if has_no_body(scope):
            await self._answer(environ_of(scope, BytesIO(), 0), threads, receive, send)
            return
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            content = message.get("body", b"")  # most bodies arrive whole in one message
            environ = environ_of(scope, BytesIO(content), len(content))
            await self._answer(environ, threads, receive, send)
            return
        with SpooledTemporaryFile(max_size=MAX_BYTES_IN_MEMORY) as body:
            while message["type"] == "http.request" and message.get("more_body", False):
                body.write(message.get("body", b""))
                message = await receive()
            if message["type"] == "http.disconnect":
                return
            body.write(message.get("body", b""))
            length = body.tell()
            body.seek(0)
            await self._answer(environ_of(scope, body, length), threads, receive, send)

    async def _answer(
        self, environ: dict[str, Any], threads: ThreadPoolExecutor, receive: Receive, send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        run = copy_context().run  # so that the thread knows the facts of the request
        status, headers, parts = await loop.run_in_executor(threads, run, self._begin, environ)
        start = {"type": "http.response.start", "status": status, "headers": headers}
        await send(start)
        if isinstance(parts, bytes) and len(parts) <= PART_BYTES:
            await send({"type": "http.response.body", "body": parts})
            return
        leaving = asyncio.create_task(until_left(receive))
        try:
            if isinstance(parts, bytes):
                await _send_in_parts(parts, leaving, send)
                return
            # No thread is held while a slow client reads.
            while not leaving.done():
                async with another_turn():
                    part = await loop.run_in_executor(threads, run, parts.read)
                if not part:
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            if not isinstance(parts, bytes):
                await loop.run_in_executor(threads, parts.close)

    def _begin(self, environ: dict[str, Any]) -> tuple[int, Headers, bytes | _Parts]:
        started: list[tuple[int, Headers]] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            named = [
                (name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in headers
            ]
            started.append((int(status.split(" ", 1)[0]), named))

        answer = self.app(environ, start_response)
        if getattr(answer, "streaming", False):
            close_old_connections()
            return (*started[0], _Parts(answer))
        try:
            content = b"".join(answer)
        finally:
            if close := getattr(answer, "close", None):
                close()
        return (*started[0], content)


async def _send_in_parts(content: bytes, leaving: asyncio.Task[None], send: Send) -> None:
    """Sends a long answer in parts, so that it notices a client that does not read or has left."""
    for place in range(0, len(content), PART_BYTES):
        if leaving.done():
            return
        part, more = content[place : place + PART_BYTES], place + PART_BYTES < len(content)
        await send({"type": "http.response.body", "body": part, "more_body": more})


class _Parts:
    """Reads a streamed answer. Each step may run in another thread, and releases its connection."""

    def __init__(self, answer: Iterable[bytes]) -> None:
        self.answer = answer
        self.parts: Iterator[bytes] = iter(answer)

    def read(self) -> bytes:
        """Returns the next 64 kB or more, and nothing at the end."""
        chunks, size = [], 0
        try:
            for part in self.parts:
                chunks.append(part)
                size += len(part)
                if size >= PART_BYTES:
                    break
        finally:
            close_old_connections()
        return b"".join(chunks)

    def close(self) -> None:
        if close := getattr(self.answer, "close", None):
            close()


def environ_of(scope: dict[str, Any], body: IO[bytes], length: int) -> dict[str, Any]:
    """Returns the environ of PEP 3333. The body is complete, so its length is known even if it was
    chunked."""
    server, client = scope.get("server") or ("localhost", 0), scope.get("client") or ("", 0)
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        name = name if name == "CONTENT_TYPE" else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        between = "; " if name == "HTTP_COOKIE" else ","
        environ[name] = f"{environ[name]}{between}{value}" if name in environ else value
    for name in ("HTTP_TRANSFER_ENCODING", "HTTP_CONTENT_LENGTH"):
        environ.pop(name, None)
    environ["CONTENT_LENGTH"] = str(length)
    if ARRIVED in scope:
        environ[ARRIVED] = scope[ARRIVED]
    return environ
