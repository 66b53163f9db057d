"""The server meets the requirements of A2A 0.3, as a client sees them."""

from __future__ import annotations

import sys

import pytest

from tests.relay.conformance.caller import Caller

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.slow,
]


def test_0_3_sends_gets_and_cancels(older: Caller) -> None:
    done = older.send("tck-complete-task")
    asked = older.send("tck-input-required")
    got = older.result("tasks/get", {"id": done["id"]})
    canceled = older.result("tasks/cancel", {"id": asked["id"]})

    assert done["kind"] == got["kind"] == canceled["kind"] == "task"
    assert got["status"]["state"] == "completed"
    assert asked["status"]["state"] == "input-required"
    assert canceled["status"]["state"] == "canceled"
    assert got["history"][0]["kind"] == "message"
    assert got["history"][0]["parts"][0]["kind"] == "text"


def test_0_3_goes_on_with_a_task(older: Caller) -> None:
    asked = older.send("tck-input-required")
    ended = older.send("tck-complete-task", taskId=asked["id"], contextId=asked["contextId"])

    assert ended["id"] == asked["id"]
    assert ended["status"]["state"] == "completed"
    limited = older.result("tasks/get", {"id": asked["id"], "historyLength": 2})
    assert len(limited["history"]) <= 2


def test_0_3_goes_on_with_and_cancels_what_an_ordinary_message_began(older: Caller) -> None:
    """As the kit does, which names no scenario and no context here."""
    begun = older.send("test-history-create-message-id-1")
    for number in (1, 2, 3):
        more = older.send(f"test-history-message-{number}-2", taskId=begun["id"])
    limited = older.result("tasks/get", {"id": begun["id"], "historyLength": 2})
    canceled = older.result("tasks/cancel", {"id": begun["id"]})

    assert more["id"] == begun["id"]
    assert begun["status"]["state"] in {"submitted", "working", "input-required"}
    assert more["status"]["state"] in {"submitted", "working", "input-required"}
    assert len(limited["history"]) == 2
    assert canceled["status"]["state"] == "canceled"


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("tasks/get", -32001),
        ("tasks/cancel", -32001),
        ("message/stream", -32004),
        ("tasks/resubscribe", -32004),
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

    made = older.result(
        "tasks/pushNotificationConfig/set", {"taskId": task, "pushNotificationConfig": config}
    )
    read = older.result("tasks/pushNotificationConfig/get", named)
    listed = older.result("tasks/pushNotificationConfig/list", {"id": task})
    gone = older.result("tasks/pushNotificationConfig/delete", named)

    assert made["taskId"] == task
    assert made["pushNotificationConfig"]["url"] == "https://example.com/hook"
    assert read == made
    assert listed == [made]
    assert gone is None


def test_the_examples_of_the_document(older: Caller) -> None:
    message = {
        "messageId": "msg-001",
        "role": "user",
        "parts": [{"type": "text", "text": "Review the latest deployment"}],
    }

    task = older.result("message/send", {"message": message})

    assert older.result("tasks/get", {"id": task["id"]})["status"]["state"] == "completed"
