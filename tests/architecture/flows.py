"""Traces a request through the applications of production. Keeps the project's files in the order
in which they are first called."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from asgiref.testing import ApplicationCommunicator

from tests.architecture.sources import PACKAGES, ROOT

FOLDERS = tuple(f"{ROOT / package}/" for package in PACKAGES)
MAX_SECONDS = 20


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@contextmanager
def traced() -> Iterator[list[str]]:
    """Traces this thread, and all threads that start meanwhile. Modules that are imported during
    the trace are not counted, because a server has imported them long before."""
    files: dict[str, None] = {}
    result: list[str] = []

    def see(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name == "<module>":
            return
        if code.co_filename.startswith(FOLDERS):
            files.setdefault(code.co_filename)

    before = sys.getprofile()
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield result
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
        result.extend(file.removeprefix(f"{ROOT}/") for file in files)


def request(
    app: Any, method: str, path: str, *, headers: dict[str, str], body: bytes = b""
) -> Answer:
    """Sends one request to an ASGI application, as granian would."""
    return asyncio.run(_request(app, method, path, headers, body))


async def _request(
    app: Any, method: str, path: str, headers: dict[str, str], body: bytes
) -> Answer:
    named = {"host": "127.0.0.1", **headers}
    if body:
        named["content-length"] = str(len(body))
    scope = {
        **{"type": "http", "http_version": "1.1", "method": method, "scheme": "http"},
        **{"path": path, "raw_path": path.encode(), "query_string": b""},
        **{"client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80)},
        "headers": [(name.lower().encode(), text.encode()) for name, text in named.items()],
    }
    server = ApplicationCommunicator(app, scope)
    await server.send_input({"type": "http.request", "body": body, "more_body": False})
    start = await server.receive_output(MAX_SECONDS)
    parts = [await server.receive_output(MAX_SECONDS)]
    while parts[-1].get("more_body"):
        parts.append(await server.receive_output(MAX_SECONDS))
    await server.wait(MAX_SECONDS)
    answered = {name.decode().lower(): text.decode() for name, text in start["headers"]}
    return Answer(start["status"], answered, b"".join(part.get("body", b"") for part in parts))
