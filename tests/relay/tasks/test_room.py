"""A task and a context have a limit in bytes, and only those who reach it notice."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from accounts.models import ApiKey
from relay.models import Task
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, after, now

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
        connector.tell("progress", **ids, n=n, artifact=piece, at=after(2 + n)) for n in (1, 2)
    ]

    assert answers[0] == []
    assert answers[1][0]["code"] == "too_much"
