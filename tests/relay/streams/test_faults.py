"""Streams continue although reads of their rows fail."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError
from django.utils import timezone

from database import encryption, notifications
from relay.models import Event, Task
from relay.protocol import dialects
from relay.streams import reading
from tests.fixtures import wrapped
from tests.relay.calling import Caller, move
from tests.relay.fake_connector import FakeConnector, of
from tests.relay.streams.listening import HEARTBEAT, Listener, SetTimes, is_free, meanwhile, sending
from tests.relay.streams.listening import following as subscribing

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOOK_OFTEN_SECONDS", "LOOK_EVERY_SECONDS"):
        # One watch looks every five seconds, for all streams of the process.
        monkeypatch.setattr(notifications, name, 0.02)


def test_a_stream_waits_for_a_database_that_is_away(newer: Caller, set_times: SetTimes) -> None:
    set_times(OUTAGE_SECONDS=0.01)
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listener = await subscribing(newer, task["id"]).open()
        await listener.next()
        said = []
        with wrapped.failing(reading, "events_after", OperationalError("server closed"), times=2):
            await meanwhile(move, task["id"], State.COMPLETED)
            while (event := await listener.next()) is not None:
                said.append(event)
        return said

    *quiet, ended = story()
    assert quiet == [HEARTBEAT, HEARTBEAT]
    assert ended.state == "completed"


def test_a_send_that_is_held_back_waits_for_a_database_that_is_away(
    newer: Caller, connector: FakeConnector, set_times: SetTimes
) -> None:
    set_times(OUTAGE_SECONDS=0.01)
    set_times(HELD_SECONDS=20)

    @async_to_sync
    async def story() -> Any:
        with wrapped.failing(reading, "events_after", OperationalError("server closed"), times=2):
            listener = await sending(newer).open()
            await meanwhile(lambda: move(str(Task.objects.get().pk), State.WORKING))
            first = await listener.next()
            await meanwhile(move, first.change["id"], State.COMPLETED)
            return [first, *(await listener.rest())]

    assert [one.state for one in story()] == ["submitted", "working", "completed"]


@pytest.mark.usefixtures("looks_often")
def test_a_look_that_fails_is_repeated(newer: Caller) -> None:
    """If the look were not repeated, no stream of this process would hear anything again."""
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        with (
            wrapped.failing(reading, "generations", OperationalError("server closed"), times=1),
            wrapped.failing(reading, "generations", ValueError("a mistake"), times=1),
        ):
            listener = await subscribing(newer, task["id"]).open()
            await listener.next()
            await meanwhile(move, task["id"], State.COMPLETED)
            return await listener.rest()

    assert [one.state for one in story()] == ["completed"]


@pytest.mark.usefixtures("looks_often")
def test_an_event_is_found_without_a_notification(
    newer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notification may be lost. Only rows are certain."""
    monkeypatch.setattr(notifications, "_wake", lambda topics: None)  # the notification is lost
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listener = await subscribing(newer, task["id"]).open()
        await listener.next()
        await meanwhile(move, task["id"], State.COMPLETED)
        return await listener.rest()

    assert [one.state for one in story()] == ["completed"]


def test_an_event_that_cannot_be_decrypted_ends_the_stream_with_an_error(newer: Caller) -> None:
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listener = await subscribing(newer, task["id"]).open()
        await listener.next()
        with wrapped.failing(reading, "events_after", encryption.Unreadable("no key"), times=1):
            await meanwhile(move, task["id"], State.COMPLETED)
            return await listener.rest()

    (only,) = story()
    assert only.answer["error"]["code"] == -32603
    assert "Nothing is lost" in only.answer["error"]["message"]
    assert is_free()


def test_much_that_was_missed_comes_in_small_reads(newer: Caller, connector: FakeConnector) -> None:
    texts = [f"{number}" * (reading.BYTES_AT_ONCE // 10) for number in range(12)]
    task = newer.send()
    frame = connector.run(at=timezone.now())
    for number, text in enumerate(texts, 1):
        artifact = {"artifactId": "log", "append": True, "parts": [{"text": text}]}
        connector.send_frame(
            "progress", **of(frame), n=number, artifact=artifact, at=timezone.now()
        )
    connector.end(frame, "completed", at=timezone.now())

    @async_to_sync
    async def story() -> Any:
        last = f"{task['id']}:2"
        return await (await subscribing(newer, task["id"], Last_Event_ID=last).open()).rest()

    *pieces, ended = story()
    assert [one.texts for one in pieces] == [[text] for text in texts]
    assert ended.state == "completed"


def test_a_task_that_changes_while_it_is_read_is_read_again(newer: Caller) -> None:
    """An event that is part of the first answer must not come again after that answer."""
    task, changes = newer.send(), iter([1, 2, 3])
    row = Task.objects.get(pk=task["id"])

    def change() -> None:
        if next(changes, None):
            move(task["id"], State.WORKING, "On it.")

    with wrapped.after(dialects, "write_task", change):
        body = reading.snapshot(row, "1.0")["task"]

    assert row.generation == body["metadata"]["wakeGeneration"] == 4
    assert len(body["history"]) + 1 == 4


def test_an_erased_task_streams_nothing(newer: Caller) -> None:
    task = newer.send()
    move(task["id"], State.COMPLETED, "Done.")
    Task.objects.update(erased_at=timezone.now())

    @async_to_sync
    async def story(listener: Listener) -> Any:
        return await (await listener.open()).answer()

    last = {"Last_Event_ID": f"{task['id']}:1"}
    again = Listener(newer, "SendStreamingMessage", newer.sending(), **last)
    assert story(subscribing(newer, task["id"], **last))["error"]["code"] == -32004
    assert story(again)["error"]["code"] == -32004
    assert Event.objects.count() == 2


def test_one_statement_looks_at_all_tasks_that_are_followed(
    newer: Caller, django_assert_num_queries: Any
) -> None:
    tasks = [newer.send(messageId=f"m-{number}")["id"] for number in range(5)]
    rows = list(Task.objects.filter(pk__in=tasks).values_list("pk", flat=True))

    with django_assert_num_queries(1):
        newest = reading.generations(rows, at=timezone.now())

    assert newest == dict.fromkeys(rows, 1)
