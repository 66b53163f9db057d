"""Requests that come at once wait for their turn."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.agent_client import AgentClient
from tests.served import served
from tests.stress.concurrency.threads import at_once

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL's connections"),
]
GENEROUS = {"WAKE_QUOTA_LIVE": "36000000/10000000", "WAKE_READS_PER_MINUTE": "1000000"}


@pytest.mark.parametrize("interface", ["asgi", "wsgi"])
def test_a_hundred_concurrent_requests_are_all_served(caller: AgentClient, interface: str) -> None:
    """The pool waited a second for one of its ten connections; then 79 of 100 got a 503."""
    body = json.dumps(caller.payload())
    headers = {**caller.headers, "Content-Type": "application/json"}

    with served(interface, WAKE_DATABASE_CONNECTIONS="2", **GENEROUS) as origin:
        address = urlsplit(origin).netloc

        def deliver_and_poll() -> tuple[int, int]:
            with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
                connection.request("POST", "/wake/v1/deliver", body, headers)
                delivered = connection.getresponse()
                created = json.loads(delivered.read())
                path = f"/wake/v1/response/{created.get('delivery_id')}"
                connection.request("GET", path, headers=headers)
                polled = connection.getresponse()
                polled.read()
            return delivered.status, polled.status

        codes = at_once(*[deliver_and_poll] * 100)

    assert Counter(codes) == {(201, 200): 100}
