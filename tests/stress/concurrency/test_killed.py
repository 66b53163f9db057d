"""A web server that is killed under load keeps everything that it acknowledged, and keeps it once
(docs/reliability.md, Other promises, 4, 15)."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator

import httpx
import pytest
from django.db import connection

from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import Server
from tests.stress.concurrency.threads import at_once
from wake.models import Delivery

pytestmark = pytest.mark.system

SENDERS, KILLS = 8, 2


@pytest.fixture
def server(db: None) -> Iterator[Server]:
    server = Server("asgi", WAKE_QUOTA_LIVE="3600000/1000000")
    server.start()
    yield server
    server.stop()


def test_every_acknowledged_delivery_is_stored_once(server: Server, caller: AgentClient) -> None:
    """ "Web workers killed under deliver load; a client retry with its Idempotency-Key gets the
    same id" """
    finished = threading.Event()

    def deliver(client: httpx.Client, once: str) -> str:
        """Delivers as a careful agent does: again, with the same key, until it gets an id."""
        while True:
            try:
                answer = client.post(
                    f"{server.origin}/wake/v1/deliver",
                    headers={**caller.headers, "Idempotency-Key": once},
                    json=caller.payload(summary=once),
                    timeout=10,
                )
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code != 503:
                return str(answer.raise_for_status().json()["delivery_id"])

    def send() -> dict[str, str]:
        acknowledged: dict[str, str] = {}
        with httpx.Client() as client:
            while not finished.is_set():
                once = str(uuid.uuid4())
                acknowledged[once] = deliver(client, once)
            # If the server had lost a delivery, the delivery would now get a different id.
            assert acknowledged == {once: deliver(client, once) for once in acknowledged}
        return acknowledged

    def kill() -> dict[str, str]:
        try:
            for _ in range(KILLS):
                time.sleep(0.7)
                server.kill()
                server.start()
            time.sleep(0.3)
        finally:
            finished.set()
        return {}

    acknowledged: dict[str, str] = {}
    for sent in at_once(*[send] * SENDERS, kill):
        acknowledged |= sent

    stored = dict(Delivery.objects.values_list("idempotency_key", "pk"))
    assert {once: str(pk) for once, pk in stored.items()} == acknowledged
    assert len(acknowledged) > SENDERS
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchall() == [("ok",)]
