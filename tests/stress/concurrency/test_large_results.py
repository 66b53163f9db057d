"""A large result with several receivers of pushes does not stop its agent."""

from __future__ import annotations

import base64
import threading
import time
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.db.models.functions import Length
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Team
from relay.cards import callers
from relay.cards.publishing import publish
from relay.protocol.dialects import PushIn
from relay.protocol.versions import Version
from relay.tasks import pushes
from tests.fixtures.agent_client import AgentClient
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import FakeConnector, ask
from tests.stress.concurrency.threads import at_once
from wake.models import Callback

pytestmark = pytest.mark.slow

FILES, FILE_BYTES = 200, 50_000
VERSIONS: list[Version] = ["1.0", "0.3", "1.0", "0.3", "1.0"]
PAUSE_SECONDS = 0.01

# Holds the times of monotonic() at which a delivery began and ended.
Span = tuple[float, float]


@pytest.fixture(autouse=True)
def generous(settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (10**9, 10**9)


def test_deliveries_do_not_wait_for_a_large_result_and_its_pushes(
    team: Team, agent: Agent, key: ApiKey, caller: AgentClient
) -> None:
    """Deliveries used to fail with a lock time-out, because the pushes were stored under the
    agent's lock."""
    card = publish(agent, by=SYSTEM, at=timezone.now())
    caller_key, _ = callers.mint(team, name="Build server", by=SYSTEM)
    task = ask(card, caller_key, at=timezone.now())
    for number, version in enumerate(VERSIONS):
        push = PushIn(f"c-{number}", f"https://c{number}.example.com/", version=version)
        pushes.create(task, push, at=timezone.now())
    connector = FakeConnector(key, at=timezone.now())
    frame = connector.run(at=timezone.now())
    is_over = threading.Event()
    caller.deliver()  # the first delivery compiles its statements

    stored_at: list[float] = []

    def record_stored_pushes(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith(f'INSERT INTO "{Callback._meta.db_table}"'):
            stored_at.append(time.monotonic())
        return execute(sql, *rest)

    def end() -> list[Span]:
        connector.end(frame, "completed", artifacts=files(), at=timezone.now())
        with connection.execute_wrapper(record_stored_pushes):
            queue_pushes()
        is_over.set()
        return []

    def deliver() -> list[Span]:
        spans = []
        while not is_over.wait(PAUSE_SECONDS):
            began = time.monotonic()
            caller.deliver()
            spans.append((began, time.monotonic()))
        return spans

    _, deliveries = at_once(end, deliver)

    rows = Callback.objects.filter(about=task.pk)
    size = rows.aggregate(all=Sum(Length("body")))["all"]
    result = FILES * FILE_BYTES * 4 / 3
    assert rows.count() == 3 * (FILES + 2) + 2 * 2
    assert size <= result * (3 * 2 + 2) * 1.05
    # Between two pushes, deliveries of this agent begin and are stored. This would be impossible if
    # one transaction stored all pushes while it holds the agent's lock, or SQLite's one lock.
    assert any(stored_at[0] < began and ended < stored_at[-1] for began, ended in deliveries)


def files() -> list[dict[str, Any]]:
    raw = base64.b64encode(b"x" * FILE_BYTES).decode()
    return [
        {"artifactId": f"file-{number}", "parts": [{"raw": raw, "filename": f"{number}.bin"}]}
        for number in range(FILES)
    ]


def test_workers_that_sweep_at_once_make_each_push_once(
    team: Team, agent: Agent, key: ApiKey
) -> None:
    card = publish(agent, by=SYSTEM, at=timezone.now())
    caller_key, _ = callers.mint(team, name="Build server", by=SYSTEM)
    task = ask(card, caller_key, at=timezone.now())
    for number in range(3):
        push = PushIn(f"c-{number}", f"https://c{number}.example.com/")
        pushes.create(task, push, at=timezone.now())
    connector = FakeConnector(key, at=timezone.now())
    frame = connector.run(at=timezone.now())
    artifacts = [{"artifactId": f"a-{n}", "parts": [{"text": str(n)}]} for n in range(150)]
    connector.end(frame, "completed", artifacts=artifacts, at=timezone.now())

    at_once(*[queue_pushes] * 4)

    assert Callback.objects.filter(about=task.pk).count() == 3 * (150 + 2)
    assert queue_pushes() == 0
