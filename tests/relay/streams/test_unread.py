"""The server counts the bytes that a caller leaves unread in its streams. Other callers are not
affected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from relay.models import Message, Task
from relay.streams.places import places
from tests.relay.calling import Caller, move
from tests.relay.streams.listening import (
    HEARTBEAT,
    SetTimes,
    following,
    is_free,
    meanwhile,
    sending,
)
from wake.asgi import application
from wake.server.http import slow_readers

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State
LONG = "x" * 3_000


@pytest.fixture(autouse=True)
def small(set_times: SetTimes, monkeypatch: pytest.MonkeyPatch) -> None:
    # A caller may leave 64 MB unread.
    monkeypatch.setattr(places, "unsent_at_most", 2_000)
    set_times(UNREAD_SECONDS=0.05)


@asynccontextmanager
async def unread(caller: Caller, task_id: str) -> AsyncIterator[None]:
    """Opens a stream whose client reads nothing, until the end of the block."""
    listener = following(caller, task_id)
    received = [{"type": "http.request", "body": json.dumps(listener.body).encode()}]
    has_begun, for_ever = asyncio.Event(), asyncio.Event()

    async def receive() -> Any:
        if received:
            return received.pop()
        await for_ever.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body" and message.get("body"):
            has_begun.set()
            await for_ever.wait()

    serving = asyncio.create_task(application(listener.socket.scope, receive, send))
    await asyncio.wait_for(has_begun.wait(), 20)
    try:
        yield
    finally:
        for_ever.set()
        await asyncio.wait_for(serving, 20)


def test_a_caller_that_does_not_read_gets_no_further_stream(
    newer: Caller, other_caller: Caller
) -> None:
    task, theirs = newer.send(LONG), other_caller.send(LONG)

    @async_to_sync
    async def story() -> Any:
        async with unread(newer, task["id"]):
            refused = await (await following(newer, task["id"]).open()).answer()
            nothing_sent = await (await sending(newer, messageId="m-2").open()).answer()
            listener = await following(other_caller, theirs["id"]).open()
            first = await listener.next()
            await listener.leave()
        again = await following(newer, task["id"]).open()
        task_again = await again.next()
        await again.leave()
        return refused, nothing_sent, first, task_again

    refused, nothing_sent, first, again = story()
    for answer in (refused, nothing_sent):
        assert answer["error"]["code"] == -32603
        assert "that this caller does not read" in answer["error"]["message"]
    assert Message.objects.count() == 2
    assert (first.kind, again.kind) == ("task", "task")
    assert is_free()
    assert not places.unsent


def test_an_open_stream_of_that_caller_waits_until_the_others_are_gone(newer: Caller) -> None:
    task, long = newer.send(), newer.send(LONG, messageId="m-2")

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        await listener.next()
        async with unread(newer, long["id"]):
            await meanwhile(move, task["id"], State.COMPLETED, "Done.")
            quiet = await listener.next()
        return quiet, await listener.rest()

    quiet, rest = story()
    assert quiet == HEARTBEAT
    assert [one.state for one in rest] == ["completed"]
    assert not places.unsent


def test_a_stream_that_is_read_slowly_goes_on(
    newer: Caller, set_times: SetTimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline of answers used to count all events of a stream together, so that the stream
    ended after some hours."""
    # The deadline of the whole server, which is a minute.
    monkeypatch.setattr(slow_readers, "SEND_SECONDS", 0.1)
    set_times(HEARTBEAT_SECONDS=0.01)
    task = newer.send()

    @async_to_sync
    async def story() -> int:
        listener = following(newer, task["id"])
        received = [{"type": "http.request", "body": json.dumps(listener.body).encode()}]
        has_enough = asyncio.Event()
        sent = 0

        async def receive() -> Any:
            if received:
                return received.pop()
            await has_enough.wait()
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            nonlocal sent
            await asyncio.sleep(0.02)
            sent += 1
            if sent == 12:
                has_enough.set()

        await asyncio.wait_for(application(listener.socket.scope, receive, send), 20)
        return sent

    assert story() >= 12
