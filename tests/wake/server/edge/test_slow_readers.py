"""Clients that do not read their answers hold no connection to the database, and are cut off."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.core.handlers.asgi import ASGIHandler
from django.db import connection
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey
from relay.cards.publishing import publish
from relay.models import Card
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import PATIENCE_SECONDS, served
from tests.relay.fake_connector import ask
from wake.server.http.request_threads import PART_BYTES
from wake.server.http.slow_readers import SlowReaders

# A process has fewer connections.
READERS = 12
# The buffers of both sides hold less: the system gives a socket up to 6 MB.
LONG = "x" * 9_500_000
PARTS = 5


@pytest.mark.system
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no pool of connections")
@pytest.mark.django_db(transaction=True)
def test_clients_that_do_not_read_hold_no_connection(key: ApiKey, caller: AgentClient) -> None:
    card = publish(key.agent, by=SYSTEM, at=timezone.now(), access=Card.Access.PUBLIC)
    task = ask(card, None, LONG, at=timezone.now())

    with served("asgi") as origin, readers(origin, str(card), str(task.pk)):
        delivered = httpx.post(
            f"{origin}/wake/v1/deliver", json=caller.payload(), headers=caller.headers, timeout=30
        )

    assert delivered.status_code == 201, delivered.text


def test_a_client_that_does_not_read_is_cut_off() -> None:
    assert sent_to(reads_every=60.0) == 0
    assert sent_to(reads_every=0.02) < PARTS, "So is one that reads a little from time to time."
    assert sent_to(reads_every=0.0) == PARTS


def test_a_short_answer_is_written_at_once_and_waits_for_no_client() -> None:
    """Django, and the threads of `up web`, send answers above 64 kB in parts."""
    assert sent_to(reads_every=0.1, parts=1, is_whole=True) == 1
    assert ASGIHandler.chunk_size == PART_BYTES == 2**16


def test_the_time_of_the_server_does_not_count() -> None:
    assert sent_to(reads_every=0.0, written_every=0.04) == PARTS


def test_a_time_out_of_the_application_is_not_taken_for_a_slow_client() -> None:
    async def failing(*_: Any) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        asyncio.run(SlowReaders(failing)({"type": "http"}, silent, unheard))


def sent_to(
    *, reads_every: float, written_every: float = 0.0, parts: int = PARTS, is_whole: bool = False
) -> int:
    """Returns how many parts of an answer a client gets. An answer that was sent whole has no
    further part."""
    got: list[Mapping[str, Any]] = []

    async def writing(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(parts):
            await asyncio.sleep(written_every)
            await send({"type": "http.response.body", "body": b"x", "more_body": not is_whole})

    async def reading(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(reads_every)
            got.append(message)

    asyncio.run(SlowReaders(writing, seconds=0.05)({"type": "http"}, silent, reading))
    return len(got)


async def silent() -> Mapping[str, Any]:
    return {}


async def unheard(_: Mapping[str, Any]) -> None:
    pass


@contextmanager
def readers(origin: str, card: str, task_id: str) -> Iterator[None]:
    """Requests the task READERS times, waits until each answer has begun, and reads no answer to
    its end."""
    address = urlsplit(origin)
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task_id}}
    body = json.dumps(call).encode()
    head = (
        f"POST /{card} HTTP/1.1\r\nHost: {address.netloc}\r\nA2A-Version: 1.0\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with ExitStack() as opened:
        connections = []
        for _ in range(READERS):
            one = opened.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.settimeout(PATIENCE_SECONDS)
            one.connect((address.hostname, address.port))
            one.sendall(head.encode() + body)
            connections.append(one)
        for one in connections:
            assert one.recv(15) == b"HTTP/1.1 200 OK"
        time.sleep(1)
        yield
