"""A client that was cut off gets what it missed, and nothing twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from relay.models import Message, Task
from relay.streams import reading
from tests.relay.calling import Caller, move
from tests.relay.fake_connector import FakeConnector, of
from tests.relay.many import add_events
from tests.relay.streams.listening import (
    SEND,
    Listener,
    following,
    is_free,
    meanwhile,
)

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State


def test_a_client_that_comes_back_gets_what_it_missed_and_nothing_twice(either: Caller) -> None:
    task = either.send()
    move(task["id"], State.WORKING, "Begun.")
    move(task["id"], State.WORKING, "Half.")
    last = f"{task['id']}:2"

    @async_to_sync
    async def story() -> Any:
        listener = await following(either, task["id"], Last_Event_ID=last).open()
        missed = await listener.next()
        await meanwhile(move, task["id"], State.COMPLETED, "Done.")
        return [missed, *(await listener.rest())]

    assert [(one.kind, one.texts) for one in story()] == [
        ("statusUpdate", ["Half."]),
        ("statusUpdate", ["Done."]),
    ]


def test_a_client_that_missed_the_end_gets_it_once(either: Caller) -> None:
    task = either.send()
    move(task["id"], State.WORKING)
    move(task["id"], State.COMPLETED, "Done.")

    async def listen(last: int) -> Listener:
        name = f"{task['id']}:{last}"
        return await following(either, task["id"], Last_Event_ID=name).open()

    @async_to_sync
    async def missed(last: int) -> Any:
        return await (await listen(last)).rest()

    @async_to_sync
    async def refusal(last: int) -> Any:
        return await (await listen(last)).answer()

    assert [one.state for one in missed(1)] == ["working", "completed"]
    assert [one.state for one in missed(2)] == ["completed"]
    assert refusal(3)["error"]["code"] == -32004
    assert is_free()


@pytest.mark.parametrize("missed", [99, 100, 200])
def test_a_stream_ends_with_the_last_event_of_a_full_read(missed: int, either: Caller) -> None:
    """The stream used to go on without an end if exactly as many events were unread as are read at
    once."""
    assert reading.EVENTS_AT_ONCE == 100
    task = either.send()
    move(task["id"], State.WORKING, "1")
    add_events(task["id"], missed - 2)
    move(task["id"], State.COMPLETED, "Done.")

    @async_to_sync
    async def story() -> Any:
        listener = await following(either, task["id"], Last_Event_ID=f"{task['id']}:1").open()
        async with asyncio.timeout(10):
            return await listener.rest()

    *_, ended = events = story()
    assert (len(events), ended.state) == (missed, "completed")
    assert ended.change.get("final", True)


def test_the_same_send_with_the_last_id_goes_on_and_sends_nothing_again(either: Caller) -> None:
    task = either.send()
    move(task["id"], State.WORKING, "Begun.")

    @async_to_sync
    async def story() -> Any:
        params = either.sending()
        headers = {"Last_Event_ID": f"{task['id']}:1"}
        listener = await Listener(either, SEND[either.version], params, **headers).open()
        missed = await listener.next()
        await meanwhile(move, task["id"], State.COMPLETED, "Done.")
        return [missed, *(await listener.rest())]

    assert [one.texts for one in story()] == [["Begun."], ["Done."]]
    assert Message.objects.filter(source="caller").count() == 1


def test_pieces_that_were_missed_come_as_they_were_made(
    newer: Caller, connector: FakeConnector
) -> None:
    task = newer.send()
    frame = connector.run(at=timezone.now())
    for number, text in enumerate("abc", 1):
        artifact = {"artifactId": "log", "append": True, "parts": [{"text": text}]}
        connector.send_frame(
            "progress", **of(frame), n=number, artifact=artifact, at=timezone.now()
        )
    connector.end(frame, "completed", at=timezone.now())

    @async_to_sync
    async def story(last: int) -> Any:
        name = f"{task['id']}:{last}"
        return await (await following(newer, task["id"], Last_Event_ID=name).open()).rest()

    first, *_ = story(2)
    assert (first.texts, "append" in first.change) == (["a"], False)
    second, third, _ = story(3)
    assert [(one.texts, one.change["append"]) for one in (second, third)] == [
        (["b"], True),
        (["c"], True),
    ]


def test_content_that_was_replaced_is_not_sent_any_more(
    newer: Caller, connector: FakeConnector
) -> None:
    task = newer.send()
    frame = connector.run(at=timezone.now())
    for number, text in enumerate("ab", 1):
        artifact = {"artifactId": "log", "parts": [{"text": text}]}
        connector.send_frame(
            "progress", **of(frame), n=number, artifact=artifact, at=timezone.now()
        )
    connector.end(frame, "completed", at=timezone.now())

    @async_to_sync
    async def story() -> Any:
        name = f"{task['id']}:2"
        return await (await following(newer, task["id"], Last_Event_ID=name).open()).rest()

    made, ended = story()
    assert (made.texts, ended.state) == (["b"], "completed")
