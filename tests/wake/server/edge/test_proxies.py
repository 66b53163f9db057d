"""The proxies of deploy/ work in front of the production server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from accounts.models import AuditEvent, Team, User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.spec.http.test_production import PRODUCTION
from tests.wake.server.edge.proxies import HOST, PROGRAMS, Missing, Proxy, proxied
from wake.api.errors import MESSAGES
from wake.server.http.machine_paths import MACHINE_PATHS
from wake.server.run import roles

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once, pytest.mark.system]

IDLE = 150  # more connections than threads; the examples of deploy/ allow one address 200
LONGEST_SECONDS = 40
FORGED = [
    ("X-Forwarded-For", "198.51.100.1"),
    ("X_Forwarded_For", "198.51.100.2"),
    ("X-Forwarded_For", "198.51.100.3"),
]


@pytest.fixture(params=PROGRAMS)
def proxy(db: None, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Proxy]:
    roles.allow_open_files()
    ours = {
        **PRODUCTION,
        "WAKE_PROXY_CLIENT_HEADER": "X-Forwarded-For",
        "WAKE_METRICS_TOKEN": "a-token-that-no-proxy-needs",
    }
    with ExitStack() as running:
        origin = running.enter_context(served("wsgi", **ours))
        try:
            proxy = running.enter_context(proxied(request.param, origin, tmp_path))
        except Missing as reason:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(reason))
        yield proxy


def test_the_proxies_stop_forged_slow_and_plain_requests(
    proxy: Proxy, caller: AgentClient, alice: User, team: Team, subtests: pytest.Subtests
) -> None:
    """The server and the proxy start once for all these tests, because each takes seconds to
    start."""
    with subtests.test("a forged address"):
        with proxy.client() as browser:
            token = browser.get("/login/").cookies["__Host-csrftoken"]
            form = {"username": alice.email, "password": "wrong", "csrfmiddlewaretoken": token}
            genuine = [("Origin", f"https://{HOST}"), ("Cookie", f"__Host-csrftoken={token}")]
            tried = browser.post("/login/", data=form, headers=[*FORGED, *genuine])
            assert tried.status_code == 422, tried.text

        assert AuditEvent.objects.filter(event__contains="fail").latest("pk").address == "127.0.0.1"

    with subtests.test("plain http"), proxy.client("http") as client:
        forged = {**caller.headers, "X-Forwarded-Proto": "https", "X_Forwarded_Proto": "https"}
        with_keys = [f"{row.prefix}x" for row in MACHINE_PATHS if row.takes_keys]
        for path in (*with_keys, "/wake/v1/responses", "/mcp"):
            refused = client.get(path, headers=forged)
            assert refused.status_code == 403, path
            body = refused.json()
            if path.startswith("/scim/"):
                assert body["detail"] == MESSAGES["https_required"]
            else:
                error = body["error"]
                assert error.get("data", error)["code"] == "https_required"
        moved = client.get("/login/?next=/x", headers=forged)
        assert moved.status_code == 308
        assert moved.headers["Location"].startswith(f"https://{HOST}")
        assert moved.headers["Location"].endswith("/login/?next=/x")

    with subtests.test("metrics"), proxy.client() as client:
        for path in ("/metrics", "/metrics?x=1", "/%6detrics", "/metrics/"):
            status = client.get(path).status_code
            assert status == 404, path  # and not the 401 of Wake

    with subtests.test("slow bodies"), ExitStack() as idle, proxy.client() as client:
        slow = [idle.enter_context(proxy.connect()) for _ in range(IDLE)]
        for connection in slow:
            connection.sendall(_half_a_request("/wake/v1/deliver"))
        answer = client.get("/healthz", timeout=5)
        assert answer.status_code == 200
        delivered = client.post(
            "/wake/v1/deliver", json=caller.payload(), headers=caller.headers, timeout=10
        )
        assert delivered.status_code == 201
        began = time.monotonic()
        answered = slow[0].makefile("rb").read()
        assert answered == b"" or answered.startswith((b"HTTP/1.1 408", b"HTTP/1.1 502")), answered
        assert time.monotonic() - began < LONGEST_SECONDS


def _half_a_request(path: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1000\r\n\r\n"
    return head.encode() + json.dumps({"a": 1}).encode()
