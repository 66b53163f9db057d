"""The push URL of one agent's task can be another agent, which continues with the result of the
task."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.agents import signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from relay.api.incoming_pushes import MAX_HOPS
from relay.cards import callers, publishing
from relay.models import Artifact, Card, Message, Run, Task
from relay.protocol.dialects import Incoming, PushIn
from relay.runs.queue import MAX_QUEUE
from relay.tasks import pushes, sending, transitions
from tests.fixtures.strict_client import Client
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import ask
from tests.relay.many import queue_runs
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt

SOURCE = str(uuid4())
State = Task.State
Post = Callable[..., Any]


@pytest.fixture
def second(team: Team) -> Card:
    """Publishes the agent that continues; it is open to every caller with a key of the team."""
    agent = Agent.objects.create(team=team, agent_id="second-agent")
    signing_secrets.ensure_secret(agent, by=SYSTEM)
    return publishing.publish(agent, by=SYSTEM, at=timezone.now())


@pytest.fixture
def caller_key(team: Team) -> str:
    _, text = callers.mint(team, name="The chain", by=SYSTEM)
    return text


@pytest.fixture
def post(second: Card, caller_key: str) -> Post:
    """Pushes to the second agent, by default with a caller key."""

    def send(body: Any, **headers: str) -> Any:
        given = headers or {"Authorization": f"Bearer {caller_key}"}
        return Client(raise_request_exception=False).post(
            "/@garden/second-agent", json.dumps(body), "application/json", headers=given
        )

    return send


def is_public(card: Card) -> None:
    publishing.publish(card.agent, by=SYSTEM, at=timezone.now(), access=Card.Access.PUBLIC)


def ended(**more: Any) -> dict[str, Any]:
    """Returns a completed task of 1.0."""
    artifact = {"artifactId": "report", "parts": [{"text": "All checks passed"}]}
    status = {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-21T09:00:00.000Z"}
    return {"id": SOURCE, "contextId": "c-1", "status": status, "artifacts": [artifact], **more}


def first_message(task: Task) -> Message:
    return Message.objects.get(task=task)


def test_the_artifacts_of_the_first_agent_are_the_request_to_the_second(post: Post) -> None:
    more = {"artifactId": "figures", "parts": [{"data": {"passed": 12}}]}
    body = ended()
    body["artifacts"].append(more)

    answer = post({"task": body})

    task = Task.objects.get()
    assert (answer.status_code, answer.json()) == (200, {"taskId": str(task.pk)})
    assert first_message(task).parts == [{"text": "All checks passed"}, {"data": {"passed": 12}}]
    assert first_message(task).source == Message.Source.CALLER
    assert first_message(task).metadata == {"wakeSourceTask": SOURCE, "wakeHop": 1}
    assert (task.source_task, task.hop, task.state) == (SOURCE, 1, State.SUBMITTED)
    assert task.caller is not None
    assert task.caller.name == "The chain"
    assert Run.objects.get().task == task


def test_a_task_of_a2a_0_3_continues_a_chain_too(post: Post) -> None:
    body = {
        "kind": "task",
        "id": SOURCE,
        "contextId": "c-1",
        "status": {"state": "completed"},
        "artifacts": [
            {"artifactId": "report", "parts": [{"kind": "text", "text": "All checks passed"}]}
        ],
    }

    answer = post(body)

    assert answer.json() == {"taskId": str(Task.objects.get().pk)}
    assert first_message(Task.objects.get()).parts == [{"text": "All checks passed"}]


def test_without_artifacts_the_last_message_is_the_request(post: Post) -> None:
    message = {"messageId": "m-9", "role": "ROLE_AGENT", "parts": [{"text": "Done."}]}
    status = {"state": "TASK_STATE_COMPLETED", "message": message}

    post({"statusUpdate": {"taskId": SOURCE, "contextId": "c-1", "status": status}})

    assert first_message(Task.objects.get()).parts == [{"text": "Done."}]


@pytest.mark.parametrize(
    "body",
    [
        {"task": ended(status={"state": "TASK_STATE_WORKING"})},
        {"task": ended(status={"state": "TASK_STATE_FAILED"})},
        {"task": ended(artifacts=[])},
        {"statusUpdate": {"taskId": SOURCE, "status": {"state": "TASK_STATE_COMPLETED"}}},
        {"artifactUpdate": {"taskId": SOURCE, "artifact": {"parts": [{"text": "Half"}]}}},
        {"message": {"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": "Hello"}]}},
        {"kind": "task", "id": SOURCE, "status": {"state": "input-required"}},
        {"kind": "status-update", "taskId": SOURCE, "status": {"state": "working"}},
    ],
    ids=[
        "working", "failed", "nothing-made", "no-words", "an-artifact", "a-message", "asking",
        "older-status",
    ],
)  # fmt: skip
def test_other_events_are_accepted_and_change_nothing(post: Post, body: dict[str, Any]) -> None:
    answer = post(body)

    assert (answer.status_code, answer.json()) == (200, {})
    assert not Task.objects.exists()


def test_a_repeated_event_is_the_same_task(post: Post) -> None:
    first = post({"task": ended()}).json()
    again = post({"task": ended()}).json()
    later = post({"task": ended(metadata={"wakeGeneration": 7})}).json()

    assert first == again
    assert later != first
    assert Run.objects.count() == 2


def test_each_agent_continues_independently(post: Post, agent: Agent, caller_key: str) -> None:
    publishing.publish(agent, by=SYSTEM, at=timezone.now())
    post({"task": ended()})

    Client().post(
        f"/@garden/{agent.agent_id}",
        json.dumps({"task": ended()}),
        "application/json",
        headers={"Authorization": f"Bearer {caller_key}"},
    )

    assert Task.objects.filter(source_task=SOURCE).count() == 2


def test_a_caller_cannot_impersonate_another(post: Post, team: Team) -> None:
    """Without this check, any caller that knows of the task could push other content first."""
    _, another = callers.mint(team, name="Somebody else", by=SYSTEM)
    theirs = post({"task": ended()}, Authorization=f"Bearer {another}").json()

    mine = post({"task": ended()}).json()

    assert mine != theirs
    assert Task.objects.filter(source_task=SOURCE).count() == 2


def test_the_length_of_a_chain_is_limited(post: Post) -> None:
    last = post({"task": ended(metadata={"wakeHop": MAX_HOPS - 1})})
    too_far = post({"task": ended(metadata={"wakeHop": MAX_HOPS, "wakeGeneration": 1})})

    assert last.status_code == 200
    assert (too_far.status_code, too_far.json()["error"]["code"]) == (422, "too_far")
    assert [task.hop for task in Task.objects.all()] == [MAX_HOPS]


def test_the_key_may_be_the_token(post: Post, caller_key: str) -> None:
    answer = post(
        {"task": ended()},
        **{"Authorization": "Bearer something-else", "X-A2A-Notification-Token": caller_key},
    )

    assert answer.status_code == 200
    assert Task.objects.get().caller is not None


def test_without_a_key_only_a_public_agent_continues(post: Post, second: Card) -> None:
    for headers in ({"Accept": "*/*"}, {"X-A2A-Notification-Token": "not-a-key"}):
        refused = post({"task": ended()}, **headers)
        assert refused.status_code == 401
        assert refused["WWW-Authenticate"].startswith("Bearer")
    assert not Task.objects.exists()

    is_public(second)
    answer = post({"task": ended()}, **{"X-A2A-Notification-Token": "not-a-key"})

    assert answer.status_code == 200
    assert Task.objects.get().caller is None


def test_a_foreign_or_revoked_key_is_refused(post: Post, mallory: Any, caller_key: str) -> None:
    _, theirs = callers.mint(mallory.memberships.get().team, name="Other", by=SYSTEM)
    ours = callers.find(caller_key, at=timezone.now())
    assert ours
    callers.revoke(ours, by=SYSTEM, at=timezone.now() - timedelta(seconds=1))

    answers = [
        post({"task": ended()}, Authorization=f"Bearer {text}") for text in (theirs, caller_key)
    ]

    assert [answer.status_code for answer in answers] == [403, 401]
    assert not Task.objects.exists()


def test_content_that_the_second_agent_does_not_accept_is_refused(post: Post, second: Card) -> None:
    publishing.publish(second.agent, by=SYSTEM, at=timezone.now(), input_modes=["application/json"])

    answer = post({"task": ended()})

    assert (answer.status_code, Task.objects.count()) == (415, 0)


def test_a_busy_agent_answers_with_retry_after(post: Post, second: Card) -> None:
    queue_runs(ask(second, None), MAX_QUEUE - 1)

    answer = post({"task": ended()})

    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0


@pytest.mark.parametrize(
    "body",
    [{}, {"hello": "world"}, {"task": ended(), "message": {}}, {"kind": "letter"}, {"task": None}],
    ids=["empty", "something", "two-members", "no-kind-of-ours", "null"],
)
def test_an_invalid_event_is_refused_with_a_json_rpc_error(
    post: Post, body: dict[str, Any]
) -> None:
    answer = post(body)

    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32600


@pytest.mark.parametrize(
    "body",
    [
        {"task": "a text"},
        {"task": ended(id="")},
        {"task": ended(id="x" * 129)},
        {"task": ended(status="done")},
        {"task": ended(artifacts={"parts": []})},
        {"task": ended(artifacts=[{"artifactId": "a", "parts": [{"text": "a", "url": "b"}]}])},
        {"task": ended(metadata={"wakeHop": -1})},
        {"task": ended(metadata={"wakeGeneration": 2**31})},
        {"task": ended(metadata={"wakeHop": "one"})},
    ],
    ids=[
        "task", "no-id", "long-id", "status", "artifacts", "parts", "hop", "generation", "hop-text",
    ],
)  # fmt: skip
def test_an_event_with_an_invalid_member_is_refused(post: Post, body: dict[str, Any]) -> None:
    answer = post(body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_push")
    assert not Task.objects.exists()


def test_an_event_larger_than_a_message_is_refused(post: Post) -> None:
    """The artifacts may be spread in any way, because the event is one message to the next
    agent."""
    artifact = {"artifactId": "report", "parts": [{"text": ""}] * 501}

    answer = post({"task": ended(artifacts=[artifact, artifact])})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_push")
    assert not Task.objects.exists()


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.django_db(transaction=True)
def test_one_agent_ends_and_its_push_starts_the_next(
    version: Any, agent: Agent, second: Card, caller_key: str, live_server: Any
) -> None:
    first = publishing.publish(agent, by=SYSTEM, at=timezone.now())
    caller = callers.find(caller_key, at=timezone.now())
    url = f"{live_server.url}/@garden/second-agent"
    push = PushIn("next", url, token=caller_key, scheme="bearer", version=version)
    incoming = Incoming(message_id="m-1", parts=[{"text": "Review it"}])
    at = timezone.now()
    task = sending.send(first, caller, incoming, push=push, at=timezone.now())

    task = transitions.transition(task.pk, State.WORKING, at=at)
    report = json.dumps([{"text": "All checks passed"}])
    artifact = Artifact.objects.create(
        task=task, artifact_id="report", parts_json=report, created_at=at
    )
    piece = transitions.Piece(artifact, 0, 1, is_last=True)
    transitions.emit_artifacts(task, [piece], at=at)
    ended = transitions.transition(task.pk, State.COMPLETED, at=at)
    queue_pushes()
    sent = send_due()

    # In 0.3 a push is a task, and the artifacts arrive when the task has ended.
    expected = 3 if version == "1.0" else 2
    assert sent == CallbackAttempt.objects.filter(status_code=200).count() == expected
    assert not Callback.objects.unfinished().exists()
    (second_task,) = Task.objects.filter(agent=second.agent)
    assert (second_task.source_task, second_task.source_generation) == (
        str(task.pk),
        ended.generation,
    )
    assert (second_task.hop, second_task.caller) == (1, caller)
    assert first_message(second_task).parts == [{"text": "All checks passed"}]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.django_db(transaction=True)
def test_two_agents_that_push_to_each_other_come_to_an_end(
    version: Any, agent: Agent, second: Card, caller_key: str, live_server: Any
) -> None:
    """A caller chains each task of one agent to the other agent, and back."""
    first = publishing.publish(agent, by=SYSTEM, at=timezone.now())
    caller = callers.find(caller_key, at=timezone.now())
    others = {first.pk: f"{live_server.url}/{second}", second.pk: f"{live_server.url}/{first}"}
    sending.send(
        first, caller, Incoming(message_id="m-1", parts=[{"text": "Review it"}]), at=timezone.now()
    )

    for _ in range(MAX_HOPS + 5):
        if (task := Task.objects.open().first()) is None:
            break
        push = PushIn("on", others[task.agent_id], token=caller_key, version=version)
        pushes.create(task, push, at=timezone.now())
        report = json.dumps([{"text": f"Seen {task.hop + 1} times"}])
        Artifact.objects.create(
            task=task, artifact_id="report", parts_json=report, created_at=timezone.now()
        )
        transitions.transition(task.pk, State.COMPLETED, at=timezone.now())
        queue_pushes()
        send_due()

    tasks = Task.objects.order_by("hop")
    assert [task.hop for task in tasks] == list(range(MAX_HOPS + 1))
    assert {task.state for task in tasks} == {State.COMPLETED}
    assert [task.agent_id for task in tasks] == [first.pk, second.pk] * (MAX_HOPS // 2 + 1)
    codes = CallbackAttempt.objects.order_by("pk").values_list("status_code", flat=True)
    assert list(codes) == [200] * MAX_HOPS + [422]
