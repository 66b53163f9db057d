"""Pushes are made from the rows of events, after the transaction that stored these."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from relay import jobs
from relay.models import CallerKey, Card, Event, PushNotification, Task
from relay.protocol.dialects import PushIn
from relay.tasks import push_queue, pushes
from tests.relay.calling import move, queue_pushes
from tests.relay.fake_connector import FakeConnector, ask, of
from wake.models import Callback

State = Task.State


@pytest.fixture
def asked(card: Card, caller_key: CallerKey) -> Callable[..., Task]:
    """Creates a task with so many push configs."""

    def ask_with(configs: int = 1, **more: Any) -> Task:
        task = ask(card, caller_key, at=timezone.now())
        for number in range(configs):
            pushes.create(task, push(number, **more), at=timezone.now())
        return task

    return ask_with


def push(number: int = 0, **more: Any) -> PushIn:
    return PushIn(f"c-{number}", f"https://c{number}.example.com/", **more)


def queued(task: Task) -> list[tuple[str, int]]:
    """Returns the config and the generation of each push that was queued."""
    rows = PushNotification.objects.filter(task=task).order_by("generation", "config__config_id")
    return list(rows.values_list("config__config_id", "generation"))


def bodies(task: Task) -> list[Any]:
    rows = Callback.objects.filter(about=task.pk).order_by("push__generation")
    return [json.loads(bytes(row.body)) for row in rows]


def test_an_event_waits_until_its_pushes_are_made(asked: Callable[..., Task]) -> None:
    """A process that dies after the commit loses none."""
    task = asked(2)

    move(str(task.pk), State.WORKING)
    move(str(task.pk), State.COMPLETED)
    assert not Callback.objects.exists()
    assert Event.objects.with_unmade_pushes().count() == 2

    assert queue_pushes() == 4 + 2
    assert queued(task) == [("c-0", 2), ("c-1", 2), ("c-0", 3), ("c-1", 3)]
    assert queue_pushes() == 0
    assert not Event.objects.with_unmade_pushes().exists()


def test_a_task_without_configs_has_nothing_to_make(asked: Callable[..., Task]) -> None:
    move(str(asked(0).pk), State.WORKING)

    assert not Event.objects.with_unmade_pushes().exists()


def test_large_pushes_are_made_in_several_transactions(
    asked: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes on where the last one stopped, within one event, too."""
    monkeypatch.setattr(push_queue, "BYTES_AT_ONCE", 1_500)
    task = asked(5)
    for _ in range(3):
        move(str(task.pk), State.WORKING, "x" * 700)

    batches, store = [], push_queue._store

    def count_and_store(made: Any) -> None:
        batches.append(len(made))
        store(made)

    monkeypatch.setattr(push_queue, "_store", count_and_store)
    queue_pushes()

    assert queued(task) == [(f"c-{n}", generation) for generation in (2, 3, 4) for n in range(5)]
    assert max(batches) == 2


def test_a_sweep_that_fails_is_repeated_and_makes_no_push_twice(
    asked: Callable[..., Task], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(push_queue, "BYTES_AT_ONCE", 1_000)
    task = asked(3)
    for _ in range(2):
        move(str(task.pk), State.WORKING, "x" * 700)
    store, calls = push_queue._store, []

    def fail_at_the_second(made: Any) -> None:
        calls.append(made)
        store(made)
        if len(calls) in {2, 3, 4}:
            raise ValueError("The process has no memory left.")

    monkeypatch.setattr(push_queue, "_store", fail_at_the_second)
    at = timezone.now()
    push_queue.queue_due(at=at)
    assert 0 < len(queued(task)) < 6
    assert "events failed and will be tried again" in caplog.text

    push_queue.queue_due(at=at + push_queue.PAUSE + timedelta(seconds=1))

    assert queued(task) == [(f"c-{n}", generation) for generation in (2, 3) for n in range(3)]


def test_a_config_gets_no_event_from_before_it(asked: Callable[..., Task]) -> None:
    task = asked(1)
    move(str(task.pk), State.WORKING)

    pushes.create(task, push(1), at=timezone.now())
    move(str(task.pk), State.COMPLETED)
    queue_pushes()

    assert queued(task) == [("c-0", 2), ("c-0", 3), ("c-1", 3)]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_push_says_what_was_so_when_it_happened(version: str, asked: Callable[..., Task]) -> None:
    """By the time it is made, the task may have gone on."""
    task = asked(1, version=version)
    move(str(task.pk), State.INPUT_REQUIRED, "Which colour?")
    move(str(task.pk), State.SUBMITTED)
    move(str(task.pk), State.WORKING, "Painting it blue.")

    queue_pushes()

    changes = [next(iter(body.values())) if version == "1.0" else body for body in bodies(task)]
    states = [change["status"]["state"].rpartition("_")[2].lower() for change in changes]
    assert states == [{"1.0": "required", "0.3": "input-required"}[version], "submitted", "working"]
    assert changes[0]["status"]["message"]["parts"][0]["text"] == "Which colour?"
    assert "message" not in changes[1]["status"]
    assert [change["metadata"]["wakeGeneration"] for change in changes] == [2, 3, 4]


def test_content_that_was_replaced_before_its_push_is_left_out(
    asked: Callable[..., Task], connector: FakeConnector
) -> None:
    task = asked(1)
    frame = connector.run(at=timezone.now())
    for number, text in enumerate("ab", 1):
        artifact = {"artifactId": "log", "parts": [{"text": text}]}
        connector.tell("progress", **of(frame), n=number, artifact=artifact, at=timezone.now())

    queue_pushes()

    assert queued(task) == [("c-0", 2), ("c-0", 4)]
    assert bodies(task)[1]["artifactUpdate"]["artifact"]["parts"] == [{"text": "b"}]


def test_many_events_take_as_many_statements_as_few(asked: Callable[..., Task]) -> None:
    counted = []
    for number in (2, 20):
        for _ in range(number):
            task = asked(2)
            move(str(task.pk), State.WORKING)
            move(str(task.pk), State.COMPLETED)
        with CaptureQueriesContext(connection) as queries:
            queue_pushes()
        counted.append(len(queries))

    assert counted[1] <= counted[0] + 2  # further batches of rows, on SQLite


def test_a_commit_wakes_a_worker(
    asked: Callable[..., Task],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    requests: list[None] = []
    monkeypatch.setattr(jobs._wake_up, "request", lambda: requests.append(None))
    task, other = asked(1), asked(0)

    with django_capture_on_commit_callbacks(execute=True):
        move(str(other.pk), State.WORKING)
    assert not requests
    with django_capture_on_commit_callbacks(execute=True):
        move(str(task.pk), State.WORKING)
    assert requests

    jobs.queue_due_pushes()
    assert queued(task) == [("c-0", 2)]
