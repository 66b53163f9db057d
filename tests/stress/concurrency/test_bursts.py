"""Requests that come at once wait for their turn."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import Task
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.stress.concurrency.threads import at_once

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL's connections"),
]
GENEROUS = {"WAKE_QUOTA_LIVE": "36000000/10000000", "WAKE_READS_PER_MINUTE": "1000000"}


@pytest.mark.parametrize("interface", ["asgi", "wsgi"])
def test_a_hundred_concurrent_requests_are_all_served(caller: AgentClient, interface: str) -> None:
    """The pool used to wait a second for one of its ten connections, and then 79 of 100 requests
    got a 503."""
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


@pytest.mark.parametrize("interface", ["asgi", "wsgi"])
def test_a_hundred_concurrent_calls_over_a2a_are_all_served(
    agent: Agent, team: Team, interface: str
) -> None:
    card = publish(agent, by=SYSTEM, at=timezone.now())
    _, key = callers.mint(team, name="Build server", by=SYSTEM)
    headers = {
        "A2A-Version": "1.0",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
    }
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}

    with served(interface, WAKE_DATABASE_CONNECTIONS="2", **GENEROUS) as origin:
        address = urlsplit(origin).netloc

        def send() -> tuple[int, str]:
            with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
                connection.request("POST", f"/{card}", json.dumps(call), headers)
                answer = connection.getresponse()
                task = json.loads(answer.read())["result"]["task"]
                return answer.status, task["status"]["state"]

        answers = at_once(*[send] * 100)

    assert Counter(answers) == {(200, "TASK_STATE_SUBMITTED"): 100}
    assert Task.objects.count() == 100
