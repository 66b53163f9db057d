"""The proxies of deploy/ pass on each event of a stream as it happens, and keep a quiet stream."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import Task
from tests.fixtures.served import served
from tests.relay.calling import move
from tests.relay.fake_connector import ask
from tests.spec.http.test_production import PRODUCTION
from tests.wake.server.edge.proxies import PROGRAMS, Missing, Proxy, proxied

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.once,
    pytest.mark.system,
]
State = Task.State
# A proxy that buffers would pass the first event on with the second one, or at its time-out.
AT_ONCE_SECONDS = 5
# The limit of each proxy for the rest of a request, or for a silent server, is shorter than this.
QUIET_SECONDS = 80


@pytest.fixture(params=PROGRAMS)
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Proxy]:
    ours = {**PRODUCTION, "WAKE_PROXY_CLIENT_HEADER": "X-Forwarded-For"}
    with ExitStack() as running:
        origin = running.enter_context(served("asgi", **ours))
        try:
            yield running.enter_context(proxied(request.param, origin, tmp_path))
        except Missing as reason:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(reason))


def test_events_come_through_as_they_happen(proxy: Proxy, team: Team, agent: Agent) -> None:
    card = publish(agent, by=SYSTEM, at=timezone.now())
    caller_key, key = callers.mint(team, name="Build server", by=SYSTEM)
    task = ask(card, caller_key, at=timezone.now())
    params = {"id": str(task.pk)}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": params}
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {key}"}

    with (
        proxy.client() as client,
        client.stream("POST", f"/{card}", json=body, headers=headers) as response,
    ):
        lines = response.iter_lines()
        assert response.headers["content-type"] == "text/event-stream"
        assert state_of(lines) == "TASK_STATE_SUBMITTED"
        for number in range(3):
            began = time.monotonic()
            move(str(task.pk), State.WORKING, f"Step {number}")
            assert state_of(lines) == "TASK_STATE_WORKING"
            assert time.monotonic() - began < AT_ONCE_SECONDS
        began, heartbeats = time.monotonic(), 0
        while time.monotonic() - began < QUIET_SECONDS:
            heartbeats += next(lines).startswith(":")
        move(str(task.pk), State.COMPLETED)
        assert state_of(lines) == "TASK_STATE_COMPLETED"
        assert list(lines)[1:] == [], "The stream is over."

    assert heartbeats >= 4


def state_of(lines: Iterator[str]) -> str:
    """Returns the state in the next event."""
    line = next(line for line in lines if line.startswith("data: "))
    (change,) = json.loads(line.removeprefix("data: "))["result"].values()
    return str(change["status"]["state"])
