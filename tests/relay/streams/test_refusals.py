"""The server refuses and ends streams to which a caller has no claim."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.agents import registration
from accounts.audit import SYSTEM
from relay.cards import callers, publishing
from relay.models import CallerKey, Card, Message, Task
from relay.streams import places
from tests.relay.calling import Caller, move
from tests.relay.fake_connector import FakeConnector
from tests.relay.streams.listening import (
    SEND,
    Event,
    Listener,
    SetTimes,
    following,
    is_free,
    meanwhile,
    read,
    sending,
)

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State


@pytest.mark.parametrize(
    "last",
    ["7", "-1", "not a number", "9" * 5_000, "{id}:0", "{id}:99", "{id}:9999999999", "{other}:1"],
)
@pytest.mark.parametrize("is_send", [True, False])
def test_an_id_that_names_no_event_of_the_task_is_refused(
    last: str, is_send: bool, newer: Caller
) -> None:
    task, other = newer.send(), newer.send(messageId="m-2")
    last = last.format(id=task["id"], other=other["id"])

    @async_to_sync
    async def story() -> Any:
        listener = (
            Listener(newer, SEND["1.0"], newer.sending(), Last_Event_ID=last)
            if is_send
            else following(newer, task["id"], Last_Event_ID=last)
        )
        return await (await listener.open()).answer()

    error = story()["error"]
    assert error["code"] == -32602
    assert error["data"][0]["fieldViolations"][0]["field"] == "Last-Event-ID"
    assert Message.objects.count() == 2
    assert is_free()


def test_a_task_of_another_caller_is_not_there(newer: Caller, other_caller: Caller) -> None:
    task = newer.send()

    @async_to_sync
    async def story(**headers: str) -> Any:
        return await (await following(other_caller, task["id"], **headers).open()).answer()

    @async_to_sync
    async def send_again() -> Any:
        last = {"Last_Event_ID": f"{task['id']}:1"}
        listener = Listener(other_caller, SEND["1.0"], other_caller.sending(), **last)
        return await (await listener.open()).answer()

    assert story()["error"]["code"] == -32001
    assert story(Last_Event_ID=f"{task['id']}:1")["error"]["code"] == -32001
    assert send_again()["error"]["code"] == -32602


def test_a_task_that_has_ended_is_not_streamed(either: Caller) -> None:
    task = either.send()
    move(task["id"], State.CANCELED)

    @async_to_sync
    async def story() -> Any:
        return await (await following(either, task["id"]).open()).answer()

    error = story()["error"]
    assert error["code"] == -32004
    assert "GetTask" in error["message"]


def test_a_caller_has_so_many_streams_and_no_more(newer: Caller, settings: Any) -> None:
    settings.WAKE_MAX_STREAMS_OF_A_CALLER = 1
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        await listener.next()
        refusal = await sending(newer, messageId="m-2").open()
        error = await refusal.answer()
        await listener.leave()
        again = await following(newer, task["id"]).open()
        first = await again.next()
        await again.leave()
        return refusal, error, first

    refusal, answer, first = story()
    assert answer["error"]["code"] == -32603
    assert "Too many streams are open for this caller." in answer["error"]["message"]
    assert refusal.headers["retry-after"] == "30"
    assert Message.objects.count() == 1, "Nothing is stored where there is no place."
    assert first.kind == "task"


def test_a_process_has_so_many_streams_and_anonymous_callers_half_of_them(
    newer: Caller, caller_key: CallerKey, settings: Any
) -> None:
    settings.WAKE_MAX_STREAMS = 2
    taken = [places.take(None, "192.0.2.0/24")]
    try:
        with pytest.raises(places.TooManyStreams, match="without a key"):
            places.take(None, "198.51.100.0/24")
        taken.append(places.take(caller_key, ""))
        with pytest.raises(places.TooManyStreams, match="on this server"):
            places.take(caller_key, "")
    finally:
        for place in taken:
            place.give_back()
            place.give_back()

    assert is_free()


def test_a_process_without_an_event_loop_says_so_and_stores_nothing(either: Caller) -> None:
    """`up web` runs no event loop, and a proxy should not send it such a call."""
    error = either.error(SEND[either.version], either.sending())

    assert error["code"] == -32004
    assert "up stream" in error["message"]
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("method", "params", "code", "text"),
    [
        ("tasks/resubscribe", {"id": "nonexistent"}, -32001, "Task not found"),
        ("tasks/resubscribe", {}, -32602, "id"),
        ("message/stream", {"message": {}}, -32602, "messageId"),
        ("message/stream", [], -32602, "params"),
    ],
)
def test_an_error_of_a_stream_of_0_3_is_its_only_event(
    method: str, params: Any, code: int, text: str, older: Caller
) -> None:
    """For an error in JSON, the SDKs of 0.3 raise "Invalid Content-Type for SSE" and lose its code
    and its text."""

    @async_to_sync
    async def story() -> Any:
        stream = await Listener(older, method, params).open()
        return stream, await stream.answer()

    stream, answer = story()

    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-store"
    assert answer["id"] == "req-1"
    assert answer["error"]["code"] == code
    assert text in answer["error"]["message"]
    assert is_free()


def test_an_error_before_the_method_is_found_is_an_event_too(card: Card, older: Caller) -> None:
    publishing.publish(card.agent, by=SYSTEM, at=timezone.now(), profile="1.0")
    body = {"jsonrpc": "2.0", "id": {}, "method": "message/stream", "params": {}}

    of_version = older.ask("message/stream", older.sending())
    (of_id,) = read(older.post(body).content.decode())
    of_method = older.post(body | {"id": 1, "method": ["message/stream"]}).json()

    assert of_version["error"]["code"] == -32009
    assert isinstance(of_id, Event)
    assert of_id.answer["error"]["code"] == of_method["error"]["code"] == -32600


def test_a_client_of_0_3_that_should_wait_reads_the_status(older: Caller, settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 1
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": "x"}}
    older.post(body)

    response = older.post(body)

    assert response.status_code == 429
    assert response.headers["Content-Type"] == "application/json"
    assert int(response.headers["Retry-After"]) > 0


def revoke(card: Card, caller_key: CallerKey) -> None:
    callers.revoke(caller_key, by=SYSTEM, at=timezone.now())


def unpublish(card: Card, caller_key: CallerKey) -> None:
    publishing.unpublish(card, by=SYSTEM, at=timezone.now())


def leave_out(card: Card, caller_key: CallerKey) -> None:
    access = Card.Access.ALLOWLIST
    publishing.publish(card.agent, by=SYSTEM, at=timezone.now(), access=access, callers=[])


def archive(card: Card, caller_key: CallerKey) -> None:
    registration.archive(card.agent, by=SYSTEM, at=timezone.now())


@pytest.mark.parametrize("end", [revoke, unpublish, leave_out, archive])
def test_a_stream_ends_when_its_caller_may_not_call_any_more(
    end: Any, card: Card, caller_key: CallerKey, newer: Caller
) -> None:
    task = newer.send()

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        await listener.next()
        await meanwhile(end, card, caller_key)
        return await listener.rest()

    (only,) = story()
    assert only.answer["error"]["code"] == -32001
    assert is_free()


@pytest.mark.parametrize("end", [revoke, unpublish, leave_out, archive])
def test_a_send_that_is_held_back_ends_so_too(
    end: Any,
    card: Card,
    caller_key: CallerKey,
    newer: Caller,
    connector: FakeConnector,
    set_times: SetTimes,
) -> None:
    """A caller who may no longer call gets neither the task nor the agent's message."""
    set_times(HELD_SECONDS=20)

    @async_to_sync
    async def story() -> Any:
        listener = await sending(newer).open()
        await meanwhile(end, card, caller_key)
        return await listener.rest()

    (only,) = story()
    assert only.answer["error"]["code"] == -32001
    assert is_free()


def test_a_caller_on_the_list_goes_on(card: Card, caller_key: CallerKey, newer: Caller) -> None:
    task = newer.send()

    def let_in() -> None:
        access, keys = Card.Access.ALLOWLIST, [caller_key]
        publishing.publish(card.agent, by=SYSTEM, at=timezone.now(), access=access, callers=keys)

    @async_to_sync
    async def story() -> Any:
        listener = await following(newer, task["id"]).open()
        await listener.next()
        await meanwhile(let_in)
        await meanwhile(move, task["id"], State.CANCELED)
        return await listener.rest()

    assert [one.kind for one in story()] == ["statusUpdate"]
