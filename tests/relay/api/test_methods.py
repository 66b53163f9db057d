"""Each A2A operation works in both versions."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from relay.cards.publishing import publish
from relay.models import Card, Task
from relay.protocol import dialects
from relay.runs.queue import MAX_QUEUE
from relay.tasks.room import MAX_MESSAGES
from tests.relay.calling import Caller, State, move
from tests.relay.many import add_messages, queue_runs

UNKNOWN = "0e2c7c1a-4c9e-4b0f-9d69-0f3c5a9c1d11"
METHODS = {
    "1.0": {"get": "GetTask", "cancel": "CancelTask", "send": "SendMessage"},
    "0.3": {"get": "tasks/get", "cancel": "tasks/cancel", "send": "message/send"},
}


# Send ---------------------------------------------------------------------------------------------


def test_a_send_makes_a_task(newer: Caller, older: Caller) -> None:
    task = newer.result("SendMessage", newer.sending())["task"]
    same = older.result("tasks/get", {"id": task["id"]})

    assert task.keys() == {"id", "contextId", "status", "history"}
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert task["history"][0].items() >= {"messageId": "m-1", "role": "ROLE_USER"}.items()
    assert task["history"][0]["parts"] == [{"text": "Hello"}]
    assert same.keys() == task.keys() | {"kind"}
    assert same["status"] == {"state": "submitted", "timestamp": task["status"]["timestamp"]}
    part = {"kind": "text", "type": "text", "text": "Hello"}
    assert same["history"][0].items() >= {"kind": "message", "role": "user"}.items()
    assert same["history"][0]["parts"] == [part]


def test_the_same_message_id_again_is_another_task(either: Caller) -> None:
    assert either.send()["id"] != either.send()["id"]


def test_the_same_idempotency_key_returns_the_same_task(newer: Caller) -> None:
    first, again = (
        newer.result("SendMessage", newer.sending(), Idempotency_Key="k-1")["task"]["id"]
        for _ in range(2)
    )
    other = newer.error("SendMessage", newer.sending("Bye"), Idempotency_Key="k-1")

    assert first == again
    assert other["code"] == -32602
    assert other["data"][0]["fieldViolations"][0]["field"] == "Idempotency-Key"


@pytest.mark.parametrize("key", ["", "x" * 256, "t\tab"])
def test_an_invalid_idempotency_key_is_refused(key: str, newer: Caller) -> None:
    assert newer.error("SendMessage", newer.sending(), Idempotency_Key=key)["code"] == -32602
    assert not Task.objects.exists()


def test_snake_case_members_are_read_and_unknown_members_ignored(either: Caller) -> None:
    message = {
        "message_id": "m-1",
        "role": "user",
        "parts": [{"type": "text", "text": "Hello", "generation": 2}],
        "context_id": "talk",
        "later": {"a": [1]},
    }
    configuration = {"history_length": 0, "return_immediately": True, "streams": []}

    params = {"message": message, "configuration": configuration, "tenant": "x"}
    result = either.result(METHODS[either.version]["send"], params)

    task = result.get("task", result)
    assert task["contextId"] == "talk"
    assert "history" not in task


@pytest.mark.parametrize("params", [{}, {"message": {}}, {"message": None}, {"message": "Hello"}])
def test_a_send_without_a_message_is_refused(params: Any, either: Caller) -> None:
    assert either.error(METHODS[either.version]["send"], params)["code"] == -32602


def test_content_that_the_agent_does_not_accept_is_refused(either: Caller) -> None:
    odd = {"raw": "dGNr", "mediaType": "application/x-odd"}
    error = either.error(
        METHODS[either.version]["send"], {"message": either.message() | {"parts": [odd]}}
    )

    assert error["code"] == -32005
    assert error["data"][0]["reason"] == "CONTENT_TYPE_NOT_SUPPORTED"
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("modes", "part", "taken"),
    [
        (["application/json"], {"text": "Hi"}, False),
        (["application/json"], {"data": {"a": 1}}, True),
        (["text/*"], {"text": "Hi", "mediaType": "text/markdown; charset=utf-8"}, True),
        (["text/plain"], {"data": {"a": 1}}, False),
        (["text/plain"], {"raw": "dGNr"}, True),
        (["*/*"], {"raw": "dGNr", "mediaType": "application/x-odd"}, True),
    ],
)
def test_an_agent_accepts_the_content_of_its_input_modes(
    modes: list[str], part: Any, taken: bool, card: Card, newer: Caller
) -> None:
    Card.objects.filter(pk=card.pk).update(input_modes=modes)

    answer = newer.ask("SendMessage", {"message": newer.message() | {"parts": [part]}})

    assert ("result" in answer) == taken


def test_a_task_continues_in_its_own_context(either: Caller) -> None:
    task = either.send(contextId="talk")

    more = either.send("More", taskId=task["id"])
    method = METHODS[either.version]["send"]
    error = either.error(method, either.sending(taskId=task["id"], contextId="other"))

    assert (more["id"], more["contextId"]) == (task["id"], "talk")
    assert [each["parts"][0]["text"] for each in more["history"]] == ["Hello", "More"]
    assert error["code"] == -32602
    assert error["data"][0]["fieldViolations"][0]["field"] == "message.contextId"


@pytest.mark.parametrize("state", sorted(Task.TERMINAL))
def test_an_ended_task_accepts_nothing(state: Task.State, either: Caller) -> None:
    task = either.send()
    move(task["id"], State(state))

    sent = either.error(METHODS[either.version]["send"], either.sending(taskId=task["id"]))
    canceled = either.error(METHODS[either.version]["cancel"], {"id": task["id"]})

    assert (sent["code"], sent["data"][0]["reason"]) == (-32004, "UNSUPPORTED_OPERATION")
    assert (canceled["code"], canceled["data"][0]["reason"]) == (-32002, "TASK_NOT_CANCELABLE")


def test_the_messages_of_a_task_are_limited(either: Caller) -> None:
    task = either.send()
    more = either.send(taskId=task["id"])
    # leaves room for the result only
    add_messages(Task.objects.get(pk=task["id"]), MAX_MESSAGES - 3)

    error = either.error(METHODS[either.version]["send"], either.sending(taskId=task["id"]))

    assert len(more["history"]) == 2
    assert (error["code"], error["data"][0]["reason"]) == (-32004, "UNSUPPORTED_OPERATION")


def test_a_busy_agent_refuses_a_send(newer: Caller) -> None:
    queue_runs(Task.objects.get(pk=newer.send()["id"]), MAX_QUEUE - 1)

    response = newer.post(
        {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": newer.sending()}
    )

    assert response.json()["error"]["code"] == -32603
    assert response["Retry-After"] == "60"
    assert response.json()["error"]["data"][0]["retryDelay"] == "60s"


# Get and cancel -----------------------------------------------------------------------------------


def test_history_has_the_requested_length(either: Caller) -> None:
    task = either.send("1")
    for text in ("2", "3"):
        either.send(text, taskId=task["id"])

    def texts(**params: Any) -> list[str] | None:
        shown_task = either.result(METHODS[either.version]["get"], {"id": task["id"], **params})
        return (
            [each["parts"][0]["text"] for each in shown_task["history"]]
            if "history" in shown_task
            else None
        )

    assert texts() == texts(historyLength=7) == texts(historyLength=None) == ["1", "2", "3"]
    assert texts(historyLength=2) == texts(history_length=2) == ["2", "3"]
    assert texts(historyLength=0) is None


@pytest.mark.parametrize("length", [-1, True, "2", 1.5, []])
def test_an_invalid_history_length_is_refused(length: Any, either: Caller) -> None:
    params = {"id": either.send()["id"], "historyLength": length}

    assert either.error(METHODS[either.version]["get"], params)["code"] == -32602


def test_large_files_are_returned_by_their_address(newer: Caller, older: Caller) -> None:
    file = {"raw": "QUJD" * 30_000, "mediaType": "text/plain", "filename": "much.txt"}
    message = newer.message() | {"parts": [file]}

    task = newer.result("SendMessage", {"message": message})["task"]
    same = older.result("tasks/get", {"id": task["id"]})

    (part,), (older_part,) = task["history"][0]["parts"], same["history"][0]["parts"]
    assert part.keys() == {"url", "mediaType", "filename"}
    assert older_part["file"].keys() == {"uri", "mimeType", "name"}


def test_cancel_ends_a_task(either: Caller) -> None:
    task = either.send()

    canceled = either.result(METHODS[either.version]["cancel"], {"id": task["id"]})

    assert dialects.read_state(canceled["status"]["state"]) == State.CANCELED
    assert canceled.get("kind") == (None if either.version == "1.0" else "task")


@pytest.mark.parametrize("id", [UNKNOWN, "none", "task-abc123", "%", "x" * 128])
@pytest.mark.parametrize("method", ["get", "cancel"])
def test_an_unknown_task_is_not_found(method: str, id: str, either: Caller) -> None:
    assert either.error(METHODS[either.version][method], {"id": id})["code"] == -32001


@pytest.mark.parametrize("params", [{}, {"id": None}, {"id": ""}, {"id": 7}, {"taskId": UNKNOWN}])
@pytest.mark.parametrize("method", ["get", "cancel"])
def test_a_task_id_is_required(method: str, params: Any, either: Caller) -> None:
    assert either.error(METHODS[either.version][method], params)["code"] == -32602


def test_another_callers_task_is_not_found(
    newer: Caller, other_caller: Caller, agent: Agent, team: Team
) -> None:
    task = newer.send(contextId="talk")["id"]
    other = Agent.objects.create(team=team, agent_id="writing-agent-02")
    elsewhere = Caller(publish(other, by=SYSTEM, at=timezone.now()), "1.0")
    elsewhere.headers["Authorization"] = newer.headers["Authorization"]

    for caller in (other_caller, elsewhere):
        for method, params in (
            ("GetTask", {"id": task}),
            ("CancelTask", {"id": task}),
            ("SendMessage", caller.sending(taskId=task)),
            ("CreateTaskPushNotificationConfig", {"taskId": task, "url": "https://x/"}),
            ("GetTaskPushNotificationConfig", {"taskId": task, "id": "mine"}),
            ("ListTaskPushNotificationConfigs", {"taskId": task}),
            ("DeleteTaskPushNotificationConfig", {"taskId": task, "id": "mine"}),
        ):
            error = caller.error(method, params)
            assert (error["code"], error["message"]) == (
                -32001,
                newer.error("GetTask", {"id": UNKNOWN})["message"],
            ), method


def test_another_callers_context_is_not_continued(newer: Caller, other_caller: Caller) -> None:
    mine, theirs = newer.send(contextId="talk")["id"], other_caller.send(contextId="talk")["id"]

    listed = newer.result("ListTasks", {"contextId": "talk"})

    assert [task["id"] for task in listed["tasks"]] == [mine]
    assert mine != theirs


def test_a_message_that_starts_a_task_takes_few_statements(
    newer: Caller, django_assert_max_num_queries: Any
) -> None:
    newer.send()

    # PostgreSQL stores the rows of different tables in one statement.
    with django_assert_max_num_queries(9 if connection.vendor == "postgresql" else 13):
        newer.send()
