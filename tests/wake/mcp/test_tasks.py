"""A question can be a task (extension io.modelcontextprotocol/tasks, 2026-07-28).

The quoted sentences are the extension's.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import ApiKey, User
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.long_polls import Clock, wait_by
from tests.types import MakeRule
from tests.wake.mcp.client import HANDSHAKE, McpClient
from tests.wake.mcp.test_tools import QUESTION, REPORT, answer
from wake.mcp import protocol
from wake.mcp.tasks import CANCELLED, METHODS, POLL_MS
from wake.mcp.wording import WAITS
from wake.models import Delivery, Response

pytestmark = pytest.mark.django_db


@pytest.fixture
def tasks(key: ApiKey) -> McpClient:
    """Returns a client that declares the extension."""
    return McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]


def ask(tasks: McpClient, **more: Any) -> str:
    """Returns the id of the task that a question becomes."""
    task = tasks.call("ask", **{**QUESTION, **more})
    assert task["resultType"] == "task"
    return str(task["taskId"])


def error(response: Any) -> tuple[int, int]:
    return response.status_code, response.json()["error"]["code"]


def test_a_question_is_a_task(tasks: McpClient) -> None:
    """Servers MUST set resultType to "task" when returning a CreateTaskResult. A server MUST NOT
    return it until a tasks/get for the returned taskId would resolve."""
    task = tasks.call("ask", **QUESTION)

    row = Delivery.objects.get()
    assert (task["taskId"], task["status"]) == (str(row.pk), "working")
    assert (task["ttlMs"], task["pollIntervalMs"]) == (None, POLL_MS)
    assert task["createdAt"] == task["lastUpdatedAt"]
    assert "content" not in task
    found = tasks.result("tasks/get", {"taskId": task["taskId"]})
    assert found == {**task, "resultType": "complete"}


def test_only_a_client_that_declares_tasks_gets_them(
    either: McpClient, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server MUST NOT return CreateTaskResult to a client that did not include the extension
    capability on its request, regardless of prior declarations."""
    declaring = McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]
    ask(declaring)

    wait_by(Clock(), monkeypatch)

    result = either.call("ask", **{**QUESTION, "summary": "Another."})

    assert result["structuredContent"]["status"] == "pending"


def test_a_model_that_says_how_long_to_wait_gets_a_result(tasks: McpClient) -> None:
    result = tasks.call("ask", **QUESTION, wait_seconds=0)

    assert result["resultType"] == "complete"
    assert result["structuredContent"]["status"] == "pending"


def test_other_tools_are_no_tasks(tasks: McpClient) -> None:
    assert tasks.structured("deliver", **REPORT)["status"] == "received"
    assert tasks.failure("ask", headline="").startswith("missing_field: ")


def test_a_task_ends_with_the_answer(tasks: McpClient, bob: User) -> None:
    """The structure matches the result type of the original request."""
    task_id = ask(tasks)
    answer(task_id, bob, "rejected", feedback="Too early.")

    task = tasks.result("tasks/get", {"taskId": task_id})

    assert (task["status"], task["statusMessage"]) == ("completed", "A person answered: rejected.")
    result = task["result"]
    check = tasks.call("check", delivery_id=task_id)
    assert result == {name: check[name] for name in check if name != "_meta"}
    assert result["content"][0]["text"].startswith("rejected: A person rejected it. Do not do it.")
    assert task["lastUpdatedAt"] == result["structuredContent"]["responded_at"]


def test_a_look_at_the_task_picks_the_answer_up(tasks: McpClient, bob: User) -> None:
    task_id = ask(tasks)
    answer(task_id, bob, "approved")

    tasks.result("tasks/get", {"taskId": task_id})

    assert Response.objects.get().picked_up_at is not None


def test_a_task_ends_with_its_deadline_and_without_an_approval(tasks: McpClient) -> None:
    task_id = ask(tasks, timeout_seconds=60, assumption="I take A.")
    past = database_now() - timedelta(seconds=1)
    Delivery.objects.update(expires_at=past)

    task = tasks.result("tasks/get", {"taskId": task_id})

    assert task["status"] == "completed"
    assert task["statusMessage"] == "The deadline passed without an answer."
    structured = task["result"]["structuredContent"]
    assert (structured["status"], structured["expired"]) == ("pending", True)
    assert task["result"]["content"][0]["text"].startswith("pending: no decision yet.")


def test_the_result_of_an_expired_task_says_that_the_model_has_to_wait(
    tasks: McpClient, make_rule: MakeRule
) -> None:
    make_rule(role="owner", must_wait=True)
    task_id = ask(tasks, timeout_seconds=60, assumption="I take A.")
    Delivery.objects.update(expires_at=database_now() - timedelta(seconds=1))

    task = tasks.result("tasks/get", {"taskId": task_id})

    assert WAITS in task["result"]["content"][0]["text"]


def test_the_message_says_until_when_it_waits(tasks: McpClient) -> None:
    task = tasks.call("ask", **QUESTION, timeout_seconds=60)

    until = Delivery.objects.get().expires_at
    assert until is not None
    assert task["statusMessage"].startswith(f"No decision yet. Waits until {until:%Y-%m-%dT%H:%M}")


def test_to_cancel_is_to_withdraw(tasks: McpClient) -> None:
    """On success, the server MUST acknowledge the request with an empty result."""
    task_id = ask(tasks)

    for _ in range(2):
        acknowledged = tasks.result("tasks/cancel", {"taskId": task_id})
        assert set(acknowledged) == {"resultType", "_meta"}

    row = Delivery.objects.get()
    assert (row.withdrawn_at is not None, row.withdrawn_reason) == (True, CANCELLED)
    assert tasks.result("tasks/get", {"taskId": task_id})["status"] == "cancelled"


def test_an_answer_outlives_a_late_cancellation(tasks: McpClient, bob: User) -> None:
    """Cancellation is cooperative: a task MAY ultimately reach a terminal status other than
    `cancelled`."""
    task_id = ask(tasks)
    answer(task_id, bob, "approved")

    tasks.result("tasks/cancel", {"taskId": task_id})

    assert tasks.result("tasks/get", {"taskId": task_id})["status"] == "completed"


def test_an_update_is_acknowledged_and_ignored(tasks: McpClient) -> None:
    """A server SHOULD ignore any inputResponses mapped to a key that is not currently
    outstanding."""
    task_id = ask(tasks)

    acknowledged = tasks.result(
        "tasks/update", {"taskId": task_id, "inputResponses": {"a": {"action": "accept"}}}
    )

    assert set(acknowledged) == {"resultType", "_meta"}
    assert tasks.result("tasks/get", {"taskId": task_id})["status"] == "working"


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("task_id", ["nothing", "1e0bcc55-65d5-4a02-9d7c-9e3a3e9f6f6c"])
def test_an_unknown_task_is_an_error(method: str, task_id: str, tasks: McpClient) -> None:
    """Invalid or nonexistent taskId: -32602 (Invalid params)."""
    assert error(tasks.ask(method, {"taskId": task_id})) == (400, protocol.INVALID_PARAMS)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("params", [{}, {"taskId": ""}])
def test_a_request_without_a_task_is_an_error(method: str, params: Any, tasks: McpClient) -> None:
    refused = tasks.ask(method, params, **{"Mcp-Name": ""})

    assert error(refused) == (400, protocol.INVALID_PARAMS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_task_of_another_agent_is_unknown(
    method: str, tasks: McpClient, others: AgentClient
) -> None:
    task_id = ask(tasks)
    other = McpClient(others.key.text, takes_tasks=True)  # type: ignore[attr-defined]

    assert error(other.ask(method, {"taskId": task_id})) == (400, protocol.INVALID_PARAMS)
    assert Delivery.objects.get().withdrawn_at is None


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_client_that_does_not_declare_tasks_is_told_so(method: str, mcp: McpClient) -> None:
    """Servers MUST return this error for non-declaring clients."""
    refused = mcp.ask(method, {"taskId": "x"})

    assert error(refused) == (400, protocol.MISSING_CAPABILITY)
    required = refused.json()["error"]["data"]["requiredCapabilities"]
    assert required == {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_older_revisions_have_no_tasks(method: str, tasks: McpClient) -> None:
    tasks.version = HANDSHAKE

    assert error(tasks.ask(method, {"taskId": "x"})) == (200, protocol.METHOD_NOT_FOUND)


def test_the_header_names_the_task(tasks: McpClient) -> None:
    """The client MUST set the Mcp-Name header to the value of params.taskId."""
    task_id = ask(tasks)

    refused = tasks.ask("tasks/get", {"taskId": task_id}, **{"Mcp-Name": str(uuid4())})

    assert error(refused) == (400, protocol.HEADER_MISMATCH)
