"""A job makes pushes from the rows of events, after the transaction that stored these rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from relay import jobs
from relay.models import CallerKey, Card, Event, PushNotification, Task
from relay.protocol.dialects import PushIn
from relay.tasks import push_queue, pushes
from tests.fixtures import wrapped
from tests.relay.calling import move, queue_pushes
from tests.relay.fake_connector import FakeConnector, ask, of
from wake.models import Callback

State = Task.State


@pytest.fixture
def asked(card: Card, caller_key: CallerKey) -> Callable[..., Task]:
    """Creates tasks with this many push configs."""

    def ask_with(configs: int = 1, **more: Any) -> Task:
        task = ask(card, caller_key, at=timezone.now())
        for number in range(configs):
            pushes.create(task, push(number, **more), at=timezone.now())
        return task

    return ask_with


def push(number: int = 0, **more: Any) -> PushIn:
    return PushIn(f"c-{number}", f"https://c{number}.example.com/", **more)


def queued(task: Task) -> list[tuple[str, int]]:
    """Returns the config and the generation of each queued push."""
    rows = PushNotification.objects.filter(task=task).order_by("generation", "config__config_id")
    return list(rows.values_list("config__config_id", "generation"))


def bodies(task: Task) -> list[Any]:
    rows = Callback.objects.filter(about=task.pk).order_by("push__generation")
    return [json.loads(bytes(row.body)) for row in rows]


def test_an_event_waits_until_its_pushes_are_made(asked: Callable[..., Task]) -> None:
    """A process that dies after the commit loses no event."""
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


def test_large_pushes_are_made_in_several_transactions(asked: Callable[..., Task]) -> None:
    """Each transaction goes on where the last one stopped, also within one event."""
    task = asked(5)
    for _ in range(3):
        move(str(task.pk), State.WORKING, "x" * 700)

    with wrapped.counted(push_queue, "_store") as batches:
        queue_pushes(bytes_at_once=1_500)

    assert queued(task) == [(f"c-{n}", generation) for generation in (2, 3, 4) for n in range(5)]
    assert max(len(made) for (made,) in batches) == 2


def test_a_sweep_that_fails_is_repeated_and_makes_no_push_twice(
    asked: Callable[..., Task], caplog: pytest.LogCaptureFixture
) -> None:
    task = asked(3)
    for _ in range(2):
        move(str(task.pk), State.WORKING, "x" * 700)
    calls = count(1)

    def fail_after_the_first() -> None:
        if next(calls) in {2, 3, 4}:
            raise ValueError("The process has no memory left.")

    at = timezone.now()
    with wrapped.after(push_queue, "_store", fail_after_the_first):
        push_queue.queue_due(at=at, bytes_at_once=1_000)
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
    """The task may have gone on by the time the push is made."""
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
        connector.send_frame(
            "progress", **of(frame), n=number, artifact=artifact, at=timezone.now()
        )

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
    settings: Any,
    django_capture_on_commit_callbacks: Any,
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # so that Celery has a broker
    task, other = asked(1), asked(0)

    with wrapped.counted(jobs._wake_up, "request") as requests:
        with django_capture_on_commit_callbacks(execute=True):
            move(str(other.pk), State.WORKING)
        assert not requests
        with django_capture_on_commit_callbacks(execute=True):
            move(str(task.pk), State.WORKING)
        assert requests

    jobs.queue_due_pushes()
    assert queued(task) == [("c-0", 2)]
