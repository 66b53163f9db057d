"""A caller sends a message and follows its task. The task comes first, then each event once."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.utils import timezone

from relay.models import Task
from relay.streams import reading
from tests.relay.calling import Caller, move
from tests.relay.fake_connector import FakeConnector, of
from tests.relay.streams.listening import (
    SetTimes,
    is_free,
    meanwhile,
    sending,
)

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State


def test_a_send_streams_its_task_to_the_end(either: Caller, connector: FakeConnector) -> None:
    def work() -> None:
        frame = connector.run(at=timezone.now())
        connector.send_frame("progress", **of(frame), n=1, text="Half of it.", at=timezone.now())
        artifact = {"artifactId": "a", "parts": [{"text": "All of it."}]}
        connector.end(frame, "completed", text="Done.", artifacts=[artifact], at=timezone.now())

    @async_to_sync
    async def story() -> Any:
        listener = await sending(either).open()
        first = await listener.next()
        await meanwhile(work)
        return listener, first, await listener.rest()

    listener, first, rest = story()

    assert (listener.status, listener.is_stream) == (200, True)
    assert listener.headers["x-accel-buffering"] == "no"
    assert (first.kind, first.state) == ("task", "submitted")
    task_id = first.change["id"]
    assert [(one.kind, one.id) for one in rest] == [
        ("statusUpdate", f"{task_id}:2"),
        ("statusUpdate", f"{task_id}:3"),
        ("artifactUpdate", f"{task_id}:4"),
        ("statusUpdate", f"{task_id}:5"),
    ]
    assert [one.state for one in rest if one.kind == "statusUpdate"] == [
        *("working", "working", "completed")
    ]
    assert (rest[1].texts, rest[2].texts, rest[3].texts) == (
        ["Half of it."],
        ["All of it."],
        ["Done."],
    )
    assert {one.answer["id"] for one in (first, *rest)} == {"req-1"}
    assert {one.change["metadata"]["wakeGeneration"] for one in (first, *rest)} == {1, 2, 3, 4, 5}
    if either.version == "0.3":
        assert [one.change["final"] for one in rest if "final" in one.change] == [
            *(False, False, True)
        ]
    assert is_free()


def test_an_agent_that_answers_with_a_message_streams_that_alone(
    newer: Caller, connector: FakeConnector, set_times: SetTimes
) -> None:
    set_times(HELD_SECONDS=20)

    def work() -> None:
        frame = connector.run(at=timezone.now())
        connector.end(frame, "completed", text="Just this.", direct=True, at=timezone.now())

    @async_to_sync
    async def story() -> Any:
        listener = await sending(newer).open()
        await meanwhile(work)
        return await listener.rest()

    (only,) = story()
    assert (only.kind, only.texts) == ("message", ["Just this."])


def test_a_message_of_the_agent_is_seen_if_it_ends_while_its_events_are_read(
    newer: Caller, connector: FakeConnector
) -> None:
    task = Task.objects.get(pk=newer.send()["id"])
    frame = connector.run(at=timezone.now())

    def end_before_the_events(execute: Any, sql: str, *rest: Any) -> Any:
        if 'FROM "relay_event"' in sql and not Task.objects.get(pk=task.pk).is_terminal:
            connector.end(frame, "completed", text="Just this.", direct=True, at=timezone.now())
        return execute(sql, *rest)

    with connection.execute_wrapper(end_before_the_events):
        batch = reading.events_after(task.pk, 1, "1.0", "req-1", ends={State.COMPLETED})

    assert b"Just this." in batch.direct


def test_a_send_is_over_when_the_agent_asks(either: Caller, connector: FakeConnector) -> None:
    @async_to_sync
    async def story() -> Any:
        listener = await sending(either).open()
        first = await listener.next()
        await meanwhile(move, first.change["id"], State.INPUT_REQUIRED, "Deploy?")
        return await listener.rest()

    (asked,) = story()
    assert (asked.state, asked.texts) == ("input_required", ["Deploy?"])
    assert asked.change.get("final", True)


def test_nothing_is_held_back_while_no_connector_is_online(
    newer: Caller, set_times: SetTimes
) -> None:
    set_times(HELD_SECONDS=60)

    @async_to_sync
    async def story() -> Any:
        listener = await sending(newer).open()
        first = await listener.next()
        await listener.leave()
        return first

    assert story().state == "submitted"
    assert is_free()


def test_a_message_to_a_task_that_waits_for_people_ends_at_once(newer: Caller) -> None:
    task = newer.send()
    move(task["id"], State.WORKING)
    move(task["id"], State.INPUT_REQUIRED, "Deploy?")

    @async_to_sync
    async def story() -> Any:
        listener = await sending(newer, "And now?", taskId=task["id"]).open()
        return await listener.rest()

    (only,) = story()
    assert (only.kind, only.state) == ("task", "input_required")
    assert is_free()
