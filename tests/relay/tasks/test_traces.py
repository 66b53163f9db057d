"""The trace of a caller's request goes along with the task's pushes and runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relay.models import Task
from relay.protocol.dialects import PushIn
from relay.tasks import pushes
from tests.relay.calling import Caller, move, queue_pushes
from tests.relay.fake_connector import FakeConnector
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.models import Callback

FIRST = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SECOND = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01"


@pytest.fixture
def facts() -> Iterator[LogFacts]:
    token = log_context.begin(facts := LogFacts(traceparent=FIRST))
    yield facts
    log_context.end(token)


def test_a_run_has_the_trace_of_its_callers_request(
    facts: LogFacts, connector: FakeConnector, either: Caller
) -> None:
    either.send()

    assert connector.run()["traceparent"] == FIRST


def test_a_message_to_the_task_replaces_the_trace(
    facts: LogFacts, connector: FakeConnector, newer: Caller
) -> None:
    task = newer.send()
    facts.traceparent = SECOND

    newer.send("And the ten smallest.", taskId=task["id"], messageId="m-2")

    assert Task.objects.get().traceparent == SECOND


def test_a_push_has_the_trace(facts: LogFacts, connector: FakeConnector, newer: Caller) -> None:
    task = Task.objects.get(pk=newer.send()["id"])
    pushes.create(task, PushIn("c", "https://a.example.com/"), at=task.created_at)

    move(str(task.pk), Task.State.WORKING)
    queue_pushes()

    assert Callback.objects.get().headers["traceparent"] == FIRST


def test_nothing_changes_without_a_trace(connector: FakeConnector, newer: Caller) -> None:
    task = Task.objects.get(pk=newer.send()["id"])
    pushes.create(task, PushIn("c", "https://a.example.com/"), at=task.created_at)

    move(str(task.pk), Task.State.WORKING)
    queue_pushes()

    assert "traceparent" not in Callback.objects.get().headers
    assert "traceparent" not in connector.run()


def test_no_answer_shows_the_trace(facts: LogFacts, card: object, newer: Caller) -> None:
    task = newer.send()

    assert FIRST not in str(task)
    assert FIRST not in str(newer.result("GetTask", {"id": task["id"]}))
