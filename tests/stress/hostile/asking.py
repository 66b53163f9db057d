"""Sends requests to the server by WSGI, without a socket."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from wake.wsgi import application

# Every run has the same examples, so that a failure can be found again. HOSTILE_EXAMPLES=5000 looks
# for new ones.
MORE = int(os.environ.get("HOSTILE_EXAMPLES", "0"))
# `make test` runs all examples, and `make system` a fifth of them on SQLite (tests/suite.py).
SHARE = 5 if os.environ.get("WAKE_TEST_FEWER_EXAMPLES") else 1


def examples(count: int) -> int:
    """Returns how many of a test's `count` examples this run takes."""
    return MORE or count // SHARE


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    method: str,
    path: str,
    *,
    query: str = "",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answer:
    """Sends a request. `path` and `query` are as in the request line, and header values are in
    latin-1."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in (headers or {}).items():
        cgi = name.upper().replace("-", "_")
        environ[cgi if cgi in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{cgi}"] = value
    keep_the_connection()
    started: list[Any] = []
    chunks = application(environ, lambda *given: started.append(given))
    try:
        content = b"".join(chunks)
    finally:
        chunks.close()  # type: ignore[attr-defined]
    ((status, answered),) = started
    return Answer(int(status.split()[0]), dict(answered), content)


def keep_the_connection() -> None:
    """Keeps the connection after a request, so that the test's transaction goes on. Django's own
    test client connects these handlers again after each of its requests."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)


Judged = Callable[..., Answer]
