"""Clients that announce a body and do not send it block no others."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import PATIENCE_SECONDS, served
from wake.server.run import roles

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

# The server has fewer threads, and granian takes only 1,024 connections by default.
IDLE = 1_100
BODY_SECONDS = 1.0  # ten seconds in production; a test waits until they have passed
ANNOUNCED = {
    "by its length": b"Content-Length: 1000\r\n\r\n{",
    "in chunks": b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
}


@pytest.mark.parametrize("interface", ["asgi", "wsgi"])
def test_idle_sockets_do_not_stop_the_server(interface: str, caller: AgentClient) -> None:
    roles.allow_open_files()
    with served(interface) as origin, idle(origin, IDLE, ANNOUNCED["by its length"]):
        for path in ("/healthz", "/readyz"):
            assert httpx.get(f"{origin}{path}", timeout=5).status_code == 200
        delivered = httpx.post(
            f"{origin}/wake/v1/deliver", json=caller.payload(), headers=caller.headers, timeout=5
        )

    assert delivered.status_code == 201


@pytest.mark.parametrize("interface", ["asgi", "wsgi"])
def test_a_body_that_never_arrives_does_not_hold_its_connection(
    interface: str, subtests: pytest.Subtests
) -> None:
    with ExitStack() as opened:
        origin = opened.enter_context(served(interface, WAKE_TEST_BODY_SECONDS=str(BODY_SECONDS)))
        began = time.monotonic()
        connections = {
            how: opened.enter_context(idle(origin, 1, body))[0] for how, body in ANNOUNCED.items()
        }
        for how, connection in connections.items():
            with subtests.test(how):
                answer = connection.makefile("rb").read()

                head, _, content = answer.partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 408")
                assert json.loads(content)["error"]["code"] == "body_too_slow"
                assert BODY_SECONDS <= time.monotonic() - began < PATIENCE_SECONDS


@contextmanager
def idle(origin: str, count: int, body: bytes) -> Iterator[list[socket.socket]]:
    """Opens connections that begin a delivery and send no more."""
    address = urlsplit(origin)
    head = f"POST /wake/v1/deliver HTTP/1.1\r\nHost: {address.netloc}\r\n".encode()
    with ExitStack() as open_sockets:
        connections = []
        for _ in range(count):
            connection = socket.create_connection(
                (address.hostname, address.port), timeout=PATIENCE_SECONDS
            )
            connections.append(open_sockets.enter_context(connection))
            connection.sendall(head + body)
        yield connections
