"""The server meets the requirements of A2A 0.3, as a client sees them."""

from __future__ import annotations

import sys

import pytest

from tests.relay.conformance.caller import Caller

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.system,
]


def test_0_3_sends_gets_and_cancels(older: Caller) -> None:
    done = older.send("tck-complete-task")
    asked = older.send("tck-input-required")
    result = older.result("tasks/get", {"id": done["id"]})
    canceled = older.result("tasks/cancel", {"id": asked["id"]})

    assert done["kind"] == result["kind"] == canceled["kind"] == "task"
    assert result["status"]["state"] == "completed"
    assert asked["status"]["state"] == "input-required"
    assert canceled["status"]["state"] == "canceled"
    assert result["history"][0]["kind"] == "message"
    assert result["history"][0]["parts"][0]["kind"] == "text"


def test_0_3_continues_a_task(older: Caller) -> None:
    asked = older.send("tck-input-required")
    ended = older.send("tck-complete-task", taskId=asked["id"], contextId=asked["contextId"])

    assert ended["id"] == asked["id"]
    assert ended["status"]["state"] == "completed"
    limited = older.result("tasks/get", {"id": asked["id"], "historyLength": 2})
    assert len(limited["history"]) <= 2


def test_0_3_continues_and_cancels_a_task_of_a_plain_message(older: Caller) -> None:
    """In this case the message of the kit names no scenario and no context."""
    first = older.send("test-history-create-message-id-1")
    for number in (1, 2, 3):
        more = older.send(f"test-history-message-{number}-2", taskId=first["id"])
    limited = older.result("tasks/get", {"id": first["id"], "historyLength": 2})
    canceled = older.result("tasks/cancel", {"id": first["id"]})

    assert more["id"] == first["id"]
    assert first["status"]["state"] in {"submitted", "working", "input-required"}
    assert more["status"]["state"] in {"submitted", "working", "input-required"}
    assert len(limited["history"]) == 2
    assert canceled["status"]["state"] == "canceled"


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("tasks/get", -32001),
        ("tasks/cancel", -32001),
        ("message/stream", -32602),
        ("tasks/resubscribe", -32001),
        ("agent/getAuthenticatedExtendedCard", -32007),
        ("nonexistent/method", -32601),
    ],
)
def test_0_3_errors(method: str, code: int, older: Caller) -> None:
    assert older.error(method, {"id": "nonexistent-task-id"})["code"] == code


def test_0_3_push_configs(older: Caller) -> None:
    task = older.send("tck-complete-task")["id"]
    config = {"id": "mine", "url": "https://example.com/hook", "token": "t"}
    named = {"id": task, "pushNotificationConfigId": "mine"}

    created = older.result(
        "tasks/pushNotificationConfig/set", {"taskId": task, "pushNotificationConfig": config}
    )
    read = older.result("tasks/pushNotificationConfig/get", named)
    listed = older.result("tasks/pushNotificationConfig/list", {"id": task})
    gone = older.result("tasks/pushNotificationConfig/delete", named)

    assert created["taskId"] == task
    assert created["pushNotificationConfig"]["url"] == "https://example.com/hook"
    assert read == created
    assert listed == [created]
    assert gone is None


def test_the_examples_of_the_document(older: Caller) -> None:
    message = {
        "messageId": "msg-001",
        "role": "user",
        "parts": [{"type": "text", "text": "Review the latest deployment"}],
    }

    task = older.result("message/send", {"message": message})

    assert older.result("tasks/get", {"id": task["id"]})["status"]["state"] == "completed"
