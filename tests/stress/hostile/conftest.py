"""The server as it is served under WSGI, without a socket, and a judge of whatever it answers."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings

from accounts.models import ApiKey, AuditEvent
from wake.models import Delivery
from wake.wsgi import application

# The same examples on every run, so that what one finds can be found again; HOSTILE_EXAMPLES=5000
# looks for new ones.
MORE = int(os.environ.get("HOSTILE_EXAMPLES", "0"))
settings.register_profile(
    "hostile",
    max_examples=MORE or 150,
    deadline=None,
    derandomize=not MORE,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
settings.load_profile("hostile")

HERE = Path(__file__).parent
MOST_CPU_SECONDS = 2.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """To measure coverage would take twice the time of thousands of examples, and they reach
    nothing that no other test does."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.no_cover)


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
    """`path` and `query` as they stand in the request line; header values in latin-1."""
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
    _keep_the_connection()
    started: list[Any] = []
    chunks = application(environ, lambda *given: started.append(given))
    try:
        content = b"".join(chunks)
    finally:
        chunks.close()  # type: ignore[attr-defined]
    ((status, answered),) = started
    return Answer(int(status.split()[0]), dict(answered), content)


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    _keep_the_connection()
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


def _keep_the_connection() -> None:
    """As Django's own test client does it, and undoes it after each of its own requests: one that
    ends does not end the test's transaction."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)


@pytest.fixture
def judged(key: ApiKey, settings: Any) -> Callable[..., Answer]:
    """Asks with a good key, and holds what must hold whatever was sent."""
    settings.WAKE_QUOTA_LIVE = (3_600_000, 1_000_000)
    settings.WAKE_READS_PER_MINUTE = 1_000_000
    authorization = f"Bearer {key.text}"  # type: ignore[attr-defined]

    stored = _stored()

    def judge(method: str, path: str, **request: Any) -> Answer:
        nonlocal stored
        before, start = stored, time.thread_time()
        headers = {"Authorization": authorization, **request.pop("headers", {})}

        answer = ask(method, path, headers=headers, **request)

        took = time.thread_time() - start
        assert answer.status < 500, answer.body
        assert took < MOST_CPU_SECONDS, f"{took:.1f} s"
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
        body = answer.json
        assert isinstance(body, dict)
        stored = _stored()
        if answer.status >= 400:
            assert set(body["error"]) <= {"code", "message", "fields"}
            assert stored == before, "A refused request stores nothing."
        return answer

    return judge


def _stored() -> tuple[int, int]:
    return Delivery.objects.count(), AuditEvent.objects.count()
