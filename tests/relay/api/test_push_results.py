"""A caller sees what came of the pushes of its task, and in a chain the task of the next agent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from relay.cards import publishing
from relay.models import Card, Task
from tests.inbox.person import Person, text_of
from tests.relay.calling import Caller, State, move, queue_pushes
from wake.callbacks.sending import send_due
from wake.models import Callback

pytestmark = pytest.mark.django_db(transaction=True)
GET = {"1.0": "GetTask", "0.3": "tasks/get"}
CREATE = {"1.0": "CreateTaskPushNotificationConfig", "0.3": "tasks/pushNotificationConfig/set"}


@pytest.fixture
def second(team: Team) -> Card:
    """Publishes the next agent of the chain."""
    agent = Agent.objects.create(team=team, agent_id="second-agent")
    signing_secrets.ensure_secret(agent, by=SYSTEM)
    return publishing.publish(agent, by=SYSTEM, at=timezone.now())


def ended(caller: Caller, url: str, *, token: str = "") -> str:
    """Sends a message whose task completes, and pushes the result to the URL. Returns the task's
    id."""
    task: str = caller.send()["id"]
    config = {"id": "next", "url": url, "token": token}
    caller.result(CREATE[caller.version], {"taskId": task, "pushNotificationConfig": config})
    move(task, State.COMPLETED, "All checks passed")
    queue_pushes()
    send_due()
    return task


def results_of(caller: Caller, task: str) -> Any:
    return caller.result(GET[caller.version], {"id": task}).get("metadata", {}).get("wakePushes")


def test_the_first_caller_follows_its_chain(
    either: Caller, second: Card, live_server: Any, alice: User, settings: Any
) -> None:
    settings.WAKE_ORIGIN = live_server.url
    key = either.headers["Authorization"].removeprefix("Bearer ")

    task = ended(either, f"{live_server.url}/{second}", token=key)
    (result,) = results_of(either, task)
    next_task = Caller(second, either.version, key).result(
        GET[either.version], {"id": result["taskId"]}
    )

    assert result == {
        "configId": "next",
        "generation": Task.objects.get(pk=task).generation,
        "state": "delivered",
        "attempts": 1,
        "statusCode": 200,
        "taskId": str(Task.objects.get(agent=second.agent).pk),
    }
    assert next_task["history"][0]["parts"][0]["text"] == "All checks passed"
    page = text_of(Person(alice).get(f"/tasks/{task}/"))
    assert "Push to @garden/second-agent: delivered" in page


def test_a_wrong_token_is_visible_to_the_caller_and_to_people(
    newer: Caller, second: Card, live_server: Any, alice: User, settings: Any
) -> None:
    settings.WAKE_ORIGIN = live_server.url

    task = ended(newer, f"{live_server.url}/{second}/", token="wrong")

    assert results_of(newer, task) == [
        {
            "configId": "next",
            "generation": 2,
            "state": "waiting",
            "attempts": 1,
            "statusCode": 401,
        }
    ]
    Callback.objects.update(due_at=timezone.now() + timedelta(hours=1))
    page = text_of(Person(alice).get(f"/tasks/{task}/"))
    assert "Push to @garden/second-agent: attempt 1 failed (response 401); the next one" in page


def test_a_receiver_that_was_never_reached_has_no_status_code(newer: Caller, alice: User) -> None:
    task = ended(newer, "http://127.0.0.1:9/hook/secret")
    Callback.objects.update(given_up_at=timezone.now(), due_at=None)

    (result,) = results_of(newer, task)
    page = text_of(Person(alice).get(f"/tasks/{task}/"))

    assert result["state"] == "failed"
    assert "statusCode" not in result
    assert "taskId" not in result
    assert "Push to 127.0.0.1:9: failed" in page
    assert "the caller can still fetch the task" in page
    assert "secret" not in page


def test_a_task_without_pushes_has_no_results(either: Caller) -> None:
    assert results_of(either, either.send()["id"]) is None
