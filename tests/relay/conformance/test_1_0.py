"""The server meets the requirements of A2A 1.0, as a client sees them. Section numbers are the
specification's."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import httpx
import pytest

from tests.relay.conformance.caller import ANSWER_SECONDS, TERMINAL, Caller, reason
from tests.relay.conformance.server import Relay
from tests.wake.callbacks.receiver import Receiver
from tests.wake.server.up import eventually

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.system,
]


# 3.1.1 Send Message -------------------------------------------------------------------------------


def test_sending_ends_in_a_task(caller: Caller) -> None:
    task = caller.send("tck-complete-task")["task"]

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["id"]
    assert task["contextId"]
    assert task["status"]["timestamp"].endswith("Z")


def test_sending_ends_in_a_message(caller: Caller) -> None:
    message = caller.send("tck-message-response")["message"]

    assert message["role"] == "ROLE_AGENT"
    assert message["parts"] == [{"text": "Direct message response"}]


def test_the_same_message_id_again_is_another_task(caller: Caller) -> None:
    first, second = (caller.send("tck-complete-task")["task"] for _ in range(2))

    assert first["id"] != second["id"]


def test_a_task_that_ended_takes_no_message(caller: Caller) -> None:
    task = caller.send("tck-complete-task")["task"]

    message = {"role": "ROLE_USER", "messageId": "more", "parts": [{"text": "?"}]}
    error = caller.error("SendMessage", {"message": message | {"taskId": task["id"]}})

    assert error["code"] == -32004
    assert reason(error) == "UNSUPPORTED_OPERATION"


def test_a_media_type_that_the_agent_does_not_accept(caller: Caller) -> None:
    part = {"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"}
    message = {"role": "ROLE_USER", "messageId": "odd", "parts": [part]}

    error = caller.error("SendMessage", {"message": message})

    assert error["code"] == -32005
    assert reason(error) == "CONTENT_TYPE_NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("message_id", "part"),
    [
        ("tck-artifact-text", {"text": "Generated text content"}),
        ("tck-artifact-data", {"data": {"key": "value", "count": 42}}),
        ("tck-artifact-file", {"raw": "ZG9uZQ==", "filename": "output.txt"}),
        ("tck-artifact-file-url", {"url": "https://example.com/output.txt"}),
    ],
)
def test_artifacts_of_every_kind(message_id: str, part: dict[str, Any], caller: Caller) -> None:
    (artifact,) = caller.send(message_id)["task"]["artifacts"]

    assert artifact["artifactId"]
    assert part.items() <= artifact["parts"][0].items()


def test_an_agent_may_reject(caller: Caller) -> None:
    task = caller.send("tck-reject-task")["task"]

    assert task["status"]["state"] == "TASK_STATE_REJECTED"


# 3.2.2 When it returns ----------------------------------------------------------------------------


def test_a_blocking_send_waits_for_the_end(caller: Caller) -> None:
    task = caller.send("tck-delayed-complete", configuration={"returnImmediately": False})["task"]

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_non_blocking_send_does_not_wait(caller: Caller) -> None:
    task = caller.send("tck-delayed-complete", configuration={"returnImmediately": True})["task"]

    assert task["status"]["state"] not in TERMINAL
    eventually(lambda: caller.result("GetTask", {"id": task["id"]})["status"]["state"] in TERMINAL)


def test_a_blocking_send_returns_when_the_agent_asks_and_the_answer_ends_it(caller: Caller) -> None:
    asked = caller.send("tck-input-required")["task"]
    ended = caller.send("tck-complete-task", taskId=asked["id"])["task"]

    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (ended["id"], ended["contextId"]) == (asked["id"], asked["contextId"])


# 3.4 Contexts and tasks ---------------------------------------------------------------------------


def test_a_callers_own_context_is_kept(caller: Caller) -> None:
    task = caller.send("tck-complete-task", contextId="a-context-of-mine")["task"]

    assert task["contextId"] == "a-context-of-mine"


def test_a_task_of_another_context_is_refused(caller: Caller) -> None:
    asked = caller.send("tck-input-required")["task"]
    message = {"role": "ROLE_USER", "messageId": "odd", "parts": [{"text": "?"}]}

    error = caller.error(
        "SendMessage", {"message": message | {"taskId": asked["id"], "contextId": "another"}}
    )

    assert error["code"] == -32602


@pytest.mark.parametrize("method", ["GetTask", "CancelTask"])
def test_an_unknown_task_is_not_found(method: str, caller: Caller) -> None:
    error = caller.error(method, {"id": "tck-nonexistent"})

    assert error["code"] == -32001
    assert reason(error) == "TASK_NOT_FOUND"


# 3.1.3 to 3.1.5 Get, list, cancel -----------------------------------------------------------------


def test_history_has_the_requested_length(caller: Caller) -> None:
    asked = caller.send("tck-input-required")["task"]
    caller.send("tck-complete-task", taskId=asked["id"])

    whole = caller.result("GetTask", {"id": asked["id"]})
    one = caller.result("GetTask", {"id": asked["id"], "historyLength": 1})
    none = caller.result("GetTask", {"id": asked["id"], "historyLength": 0})

    assert len(whole["history"]) >= 2
    assert one["history"] == whole["history"][-1:]
    assert "history" not in none


def test_lists_in_pages_newest_first(caller: Caller) -> None:
    sent = [caller.send("tck-artifact-text", contextId="a-list")["task"]["id"] for _ in range(3)]

    first = caller.result("ListTasks", {"contextId": "a-list", "pageSize": 2})
    rest = caller.result("ListTasks", {"contextId": "a-list", "pageToken": first["nextPageToken"]})

    listed = [*first["tasks"], *rest["tasks"]]
    assert [task["id"] for task in listed] == sent[::-1]
    assert first["totalSize"] == 3
    assert first["nextPageToken"]
    assert rest["nextPageToken"] == ""
    assert all("artifacts" not in task for task in listed)
    times = [datetime.fromisoformat(task["status"]["timestamp"]) for task in listed]
    assert times == sorted(times, reverse=True)


def test_lists_artifacts_where_they_are_asked_for(caller: Caller) -> None:
    caller.send("tck-artifact-text", contextId="with-artifacts")

    listed = caller.result("ListTasks", {"contextId": "with-artifacts", "includeArtifacts": True})

    assert listed["tasks"][0]["artifacts"]


@pytest.mark.parametrize("params", [{"pageSize": 0}, {"pageSize": 101}, {"pageToken": "no token"}])
def test_an_invalid_list_is_refused(params: dict[str, Any], caller: Caller) -> None:
    assert caller.error("ListTasks", {"contextId": "a-list"} | params)["code"] == -32602


def test_only_open_tasks_are_canceled(caller: Caller) -> None:
    asked = caller.send("tck-input-required")["task"]

    canceled = caller.result("CancelTask", {"id": asked["id"]})
    error = caller.error("CancelTask", {"id": asked["id"]})

    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert error["code"] == -32002
    assert reason(error) == "TASK_NOT_CANCELABLE"


# 3.1.7 to 3.1.10, 4.3 Push ------------------------------------------------------------------------


def test_push_configs_are_made_read_listed_and_deleted(caller: Caller) -> None:
    task = caller.send("tck-complete-task")["task"]["id"]
    config = {"taskId": task, "id": "mine", "url": "https://example.com/hook"}

    created = caller.result("CreateTaskPushNotificationConfig", config)
    read = caller.result("GetTaskPushNotificationConfig", {"taskId": task, "id": "mine"})
    listed = caller.result("ListTaskPushNotificationConfigs", {"taskId": task})
    for _ in range(2):
        caller.result("DeleteTaskPushNotificationConfig", {"taskId": task, "id": "mine"})
    error = caller.error("GetTaskPushNotificationConfig", {"taskId": task, "id": "mine"})

    assert (created["id"], created["url"]) == ("mine", "https://example.com/hook")
    assert read == created
    assert listed["configs"] == [created]
    assert error["code"] < 0


def test_a_push_has_its_credentials_and_one_member(caller: Caller, receiver: Receiver) -> None:
    authentication = {"scheme": "Bearer", "credentials": "tck-test-token"}
    config = {"id": "mine", "url": receiver.url, "authentication": authentication}
    asked = caller.send("tck-input-required", configuration={"taskPushNotificationConfig": config})[
        "task"
    ]
    caller.send("tck-complete-task", taskId=asked["id"])

    eventually(lambda: receiver.received)

    push = receiver.received[0]
    assert push.headers["Authorization"] == "Bearer tck-test-token"
    assert push.headers["Content-Type"].startswith("application/")
    assert len(push.json) == 1
    assert set(push.json) <= {"task", "message", "statusUpdate", "artifactUpdate"}


# 7.6.1 Authorization in a task -------------------------------------------------------------------


def test_a_task_that_waits_for_credentials_has_not_ended(caller: Caller) -> None:
    sent = caller.send("tck-auth-required")["task"]
    arrival = caller.result("GetTask", {"id": sent["id"]})

    assert sent["status"]["state"] == arrival["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"


# 3.3.4 What the card does not promise -------------------------------------------------------------


def test_an_operation_that_the_card_does_not_promise(caller: Caller) -> None:
    assert caller.error("GetExtendedAgentCard", {})["code"] == -32004


# 3.6 Versions -------------------------------------------------------------------------------------


def test_an_unknown_version_is_refused(caller: Caller) -> None:
    error = caller.error("GetTask", {"id": "tck"}, **{"A2A-Version": "99.0"})

    assert error["code"] == -32009
    assert reason(error) == "VERSION_NOT_SUPPORTED"


def test_a_patch_version_is_ignored(caller: Caller) -> None:
    assert caller.error("GetTask", {"id": "tck"}, **{"A2A-Version": "1.0.7"})["code"] == -32001


# 8 The card ---------------------------------------------------------------------------------------


def test_the_card_of_1_0_and_its_caching(relay: Relay) -> None:
    response = httpx.get(f"{relay.url}/.well-known/agent-card.json", timeout=ANSWER_SECONDS)
    card = response.json()
    again = httpx.get(
        f"{relay.url}/.well-known/agent-card.json",
        headers={"If-None-Match": response.headers["ETag"]},
        timeout=ANSWER_SECONDS,
    )

    for name in ("name", "description", "version", "skills"):
        assert card[name]
    for name in ("capabilities", "defaultInputModes", "defaultOutputModes"):
        assert name in card
    interface = card["supportedInterfaces"][0]
    assert interface["protocolBinding"] == "JSONRPC"
    assert interface["protocolVersion"] == "1.0"
    assert interface["url"].endswith("/@home/tck")
    assert "max-age" in response.headers["Cache-Control"]
    assert again.status_code == 304


def test_the_card_of_0_3_at_the_root(relay: Relay) -> None:
    card = httpx.get(f"{relay.up.url}/.well-known/agent-card.json", timeout=ANSWER_SECONDS).json()

    assert card["protocolVersion"].startswith("0.3")
    assert card["url"] == card["supportedInterfaces"][0]["url"]
    assert card["preferredTransport"] == "JSONRPC"
    assert {"streaming": True, "pushNotifications": True}.items() <= card["capabilities"].items()
    for skill in card["skills"]:
        assert {"id", "name", "description", "tags"} <= set(skill)
