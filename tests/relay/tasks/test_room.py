"""A task and a context have a limit in bytes, and only callers who reach the limit notice it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from accounts.models import ApiKey
from relay.models import CallerKey, Card, Message, Task
from relay.tasks import room
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, after, ask, now, of
from tests.relay.many import add_messages

SEND = {"1.0": "SendMessage", "0.3": "message/send"}
LONG = "x" * 3_000


@pytest.fixture(autouse=True)
def small(settings: Any) -> None:
    settings.WAKE_MAX_TASK_BYTES = 5_000
    settings.WAKE_MAX_CONTEXT_BYTES = 8_000


def test_a_full_task_refuses_messages_and_its_context_accepts_tasks(either: Caller) -> None:
    task = either.send(LONG)

    error = either.error(SEND[either.version], either.sending(LONG, taskId=task["id"]))
    another = either.send(LONG, contextId=task["contextId"])

    assert error["code"] == -32004
    assert error["message"].startswith("This task holds 5,000 bytes, which is the most")
    assert Task.objects.get(pk=task["id"]).messages.count() == 1
    assert another["contextId"] == task["contextId"]


def test_a_full_context_refuses_tasks_and_another_accepts_them(either: Caller) -> None:
    context = either.send(LONG)["contextId"]
    either.send(LONG, contextId=context)

    error = either.error(SEND[either.version], either.sending(LONG, contextId=context))
    elsewhere = either.send(LONG)

    assert error["code"] == -32004
    assert "The tasks of this context hold 8,000 bytes" in error["message"]
    assert Task.objects.filter(context__context_id=context).count() == 2
    assert elsewhere["contextId"] != context


@pytest.mark.parametrize(
    "artifact",
    [
        {"parts": [{"text": "y" * 6_000}]},
        {"parts": [{"text": "y" * 70_000}]},
        {"parts": [{"raw": base64.b64encode(b"y" * 70_000).decode(), "filename": "apart.bin"}]},
        {"parts": [{"text": "y"}], "metadata": {"long": "y" * 6_000}},
        {"parts": [{"text": "y"}], "metadata": {"long": "y" * 70_000}},
        {"parts": [{"text": "y" * 1_000}], "description": "y" * 4_000},
    ],
    ids=["text", "long text", "file", "metadata", "long metadata", "description"],
)
def test_a_result_that_overfills_its_task_fails_its_run(
    artifact: dict[str, Any], newer: Caller, key: ApiKey
) -> None:
    task = newer.send("Hi")["id"]
    connector = FakeConnector(key)
    frame = connector.run(at=after(1))

    answers = connector.end(frame, "completed", artifacts=[artifact], at=after(2))

    ended = now(Task.objects.get(pk=task))
    assert [each["type"] for each in answers] == ["done"]
    assert ended.state == Task.State.FAILED
    assert ended.status_message is not None
    assert "This task holds 5,000 bytes" in ended.status_message.parts[0]["text"]
    assert not ended.artifacts.exists()


def test_a_piece_that_overfills_its_task_is_refused(newer: Caller, key: ApiKey) -> None:
    newer.send("Hi")
    connector = FakeConnector(key)
    frame = connector.run(at=after(1))
    ids = {name: frame[name] for name in ("dispatch_id", "lease_id")}
    piece = {"artifactId": "log", "parts": [{"text": LONG}], "append": True}

    answers = [
        connector.send_frame("progress", **ids, n=n, artifact=piece, at=after(2 + n))
        for n in (1, 2)
    ]

    assert answers[0] == []
    assert answers[1][0]["code"] == "too_much"


def test_a_message_of_a_result_that_overfills_its_task_fails_its_run(
    newer: Caller, key: ApiKey
) -> None:
    """The message of a result used to be counted, but its size was not checked, so a task could
    hold any number of bytes."""
    task = newer.send("Hi")["id"]
    connector = FakeConnector(key)
    frame = connector.run(at=after(1))
    artifact = {"artifactId": "a", "parts": [{"text": "y"}]}

    connector.end(frame, "completed", text="y" * 6_000, artifacts=[artifact], at=after(2))

    ended = now(Task.objects.get(pk=task))
    assert ended.state == Task.State.FAILED
    assert ended.status_message is not None
    assert "This task holds 5,000 bytes" in ended.status_message.parts[0]["text"]
    assert not ended.artifacts.exists()
    assert ended.stored_bytes < 1_000


def test_a_result_that_overfills_its_context_fails_its_run(newer: Caller, key: ApiKey) -> None:
    context = newer.send(LONG)["contextId"]
    connector = FakeConnector(key)
    connector.end(connector.run(at=after(1)), "completed", text=LONG[:1_500], at=after(2))
    task = newer.send("Hi", contextId=context)["id"]
    frame = connector.run(at=after(3))
    artifact = {"artifactId": "a", "parts": [{"text": "y" * 4_000}]}

    (piece,) = connector.send_frame("progress", **of(frame), n=1, artifact=artifact, at=after(4))
    connector.end(frame, "completed", artifacts=[artifact | {"n": 1}], at=after(5))

    ended = now(Task.objects.get(pk=task))
    assert piece["code"] == "too_much"
    assert ended.state == Task.State.FAILED
    assert ended.status_message is not None
    assert "The tasks of this context hold 8,000" in ended.status_message.parts[0]["text"]


def test_what_a_task_holds_is_counted_in_bytes(newer: Caller, key: ApiKey) -> None:
    """Wake used to count characters, and each may have four bytes."""
    task = newer.send("世" * 500)["id"]
    connector = FakeConnector(key)
    artifact = {"artifactId": "a", "parts": [{"text": "世" * 400}]}
    connector.end(connector.run(at=after(1)), "completed", artifacts=[artifact], at=after(2))

    row = Task.objects.get(pk=task)

    stored = [row.messages.get().parts_json, row.artifacts.get().parts_json]
    assert row.stored_bytes == sum(len(json.encode()) for json in stored)


def test_a_file_makes_room_for_what_replaces_it(newer: Caller, key: ApiKey, settings: Any) -> None:
    """Each version of a picture used to stay, and the task was full after a few versions."""
    settings.WAKE_MAX_TASK_BYTES = settings.WAKE_MAX_CONTEXT_BYTES = 300_000
    task = Task.objects.get(pk=newer.send("Hi")["id"])
    connector = FakeConnector(key)
    frame = connector.run(at=after(1))

    def version(letter: bytes) -> dict[str, Any]:
        raw = base64.b64encode(letter * 80_000).decode()
        return {"artifactId": "picture", "parts": [{"raw": raw, "mediaType": "image/png"}]}

    for n in range(1, 8):
        artifact = version(bytes([64 + n]))
        assert (
            connector.send_frame("progress", **of(frame), n=n, artifact=artifact, at=after(n)) == []
        )
    last = [version(b"x"), version(b"y"), version(b"z") | {"append": True}]
    connector.end(frame, "completed", artifacts=last, at=after(9))

    row, artifact_row = now(task), task.artifacts.get()
    assert row.state == Task.State.COMPLETED
    assert {bytes(file.content)[:1] for file in task.blobs.all()} == {b"y", b"z"}
    assert row.stored_bytes - 160_000 == sum(
        len(json) for json in (task.messages.get().parts_json, artifact_row.parts_json)
    )


def test_messages_leave_room_for_the_results_of_the_runs_that_wait(
    newer: Caller, key: ApiKey
) -> None:
    task = newer.send("Hi")["id"]
    add_messages(Task.objects.get(pk=task), room.MAX_MESSAGES - 6)
    for _ in range(2):
        newer.send("More.", taskId=task)
    refused = newer.error(SEND["1.0"], newer.sending("More.", taskId=task))

    connector = FakeConnector(key)
    for number in range(3):
        connector.end(connector.run(at=after(number)), "completed", text="Yes.", at=after(number))

    assert "limit of messages" in refused["message"]
    assert Task.objects.get(pk=task).state == Task.State.COMPLETED
    assert Message.objects.filter(task=task).count() == room.MAX_MESSAGES


def test_a_task_without_room_for_messages_asks_nothing_more(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """Without this limit, an agent could ask again after each answer of a rule, forever."""
    connector = FakeConnector(key)
    task = ask(card, caller_key, "Hi")
    add_messages(task, room.MAX_MESSAGES - 3)
    connector.end(connector.run(at=after(1)), "auth_required", text="Who are you?", at=after(1))
    ask(card, caller_key, "Me.", task_id=str(task.pk), at=after(2))

    connector.end(connector.run(at=after(3)), "auth_required", text="Who is that?", at=after(3))

    ended = now(task)
    assert ended.state == Task.State.FAILED
    assert ended.status_message is not None
    assert "limit of messages" in ended.status_message.parts[0]["text"]
