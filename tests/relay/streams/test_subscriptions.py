"""A caller follows a task of theirs until it has ended."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from relay.models import Task
from tests.relay.calling import Caller, move
from tests.relay.streams.listening import (
    HEARTBEAT,
    SetTimes,
    following,
    is_free,
    meanwhile,
)

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State


def test_a_subscription_begins_with_the_task_and_ends_with_it(either: Caller) -> None:
    task = either.send()
    move(task["id"], State.WORKING, "Begun.")

    @async_to_sync
    async def story() -> Any:
        listener = await following(either, task["id"]).open()
        first = await listener.next()
        await meanwhile(move, task["id"], State.COMPLETED, "Done.")
        return first, await listener.rest()

    first, (ended,) = story()
    assert (first.kind, first.state) == ("task", "working")
    assert (ended.state, ended.texts) == ("completed", ["Done."])


def test_a_subscription_of_1_0_goes_on_through_a_question(newer: Caller) -> None:
    """By A2A 1.0, 3.1.6, a subscription ends when the task has ended."""
    task = newer.send()
    move(task["id"], State.WORKING)
    move(task["id"], State.INPUT_REQUIRED, "Deploy?")

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        states = [(await listener.next()).state]
        for state in (State.SUBMITTED, State.WORKING, State.INPUT_REQUIRED, State.CANCELED):
            await meanwhile(move, task["id"], state)
        return [*states, *(one.state for one in await listener.rest())]

    assert story() == [
        *("input_required", "submitted", "working", "input_required", "canceled"),
    ]


def test_all_streams_of_a_task_get_the_same_and_one_may_leave(newer: Caller) -> None:
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listeners = [await following(newer, task["id"]).open() for _ in range(3)]
        firsts = [await listener.next() for listener in listeners]
        await listeners[0].leave()
        await meanwhile(move, task["id"], State.WORKING, "Begun.")
        await meanwhile(move, task["id"], State.COMPLETED, "Done.")
        return firsts, [await listener.rest() for listener in listeners[1:]]

    firsts, (second, third) = story()
    assert len({str(first.answer) for first in firsts}) == 1
    assert [one.state for one in second] == ["working", "completed"]
    assert [one.answer for one in second] == [one.answer for one in third]
    assert is_free()


def test_a_message_of_the_caller_is_no_event_of_a_stream(newer: Caller) -> None:
    """A message in a stream would be the whole answer (A2A 1.0, 3.1.2)."""
    task = newer.send()
    move(task["id"], State.WORKING)

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        await listener.next()
        await meanwhile(newer.send, "More.", taskId=task["id"])
        await meanwhile(move, task["id"], State.COMPLETED)
        return await listener.rest()

    assert [one.kind for one in story()] == ["statusUpdate"]


def test_a_quiet_stream_says_that_it_is_there(newer: Caller, set_times: SetTimes) -> None:
    set_times(HEARTBEAT_SECONDS=0.05)
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        received = [await listener.next() for _ in range(3)]
        await listener.leave()
        return received

    first, *quiet = story()
    assert first.kind == "task"
    assert quiet == [HEARTBEAT, HEARTBEAT]
