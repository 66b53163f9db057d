"""Callers, connectors and people change the state of a task."""

from __future__ import annotations

import itertools
import json
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey, AuditEvent, Team
from database.idempotency import Idempotency, IdempotencyConflict
from relay.cards import callers
from relay.models import CallerKey, Card, Context, Event, Message, PushConfig, Run, Task
from relay.protocol.dialects import Incoming, PushIn
from relay.runs import queue as run_queue
from relay.tasks import lifecycle, sending, transitions
from relay.tasks.lifecycle import IllegalTransition, TaskIsTerminal, TaskNotFound
from tests.fixtures import wrapped
from tests.fixtures.long_polls import Clock, wait_by
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import T0, FakeConnector, after, ask, now
from tests.relay.many import queue_runs
from wake.api import long_poll

State = Task.State


def states_of(task: Task) -> list[str]:
    rows = Event.objects.filter(task=task, kind=Event.Kind.STATUS)
    return list(rows.values_list("state", flat=True))


@pytest.fixture
def other_caller(team: Team) -> CallerKey:
    row, _ = callers.mint(team, name="Somebody else", by=SYSTEM)
    return row


def paused(card: Card, caller: CallerKey | None, connector: FakeConnector, state: str) -> Task:
    """Returns a task whose command asked a question."""
    task = ask(card, caller)
    connector.end(connector.run(), state, text="Which market?")
    return now(task)


def test_a_connector_works_on_a_task_and_completes_it(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)

    task = ask(card, caller_key)
    given = connector.run(at=after(1))
    (done,) = connector.end(
        given,
        "completed",
        at=after(2),
        message={"role": "agent", "parts": [{"type": "text", "text": "Ten compared."}]},
        artifacts=[{"artifactId": "report", "name": "report.md", "parts": [{"text": "# Ten"}]}],
    )

    assert done == {"type": "done", "dispatch_id": given["dispatch_id"]}
    task = now(task)
    assert task.status_message is not None
    assert (task.state, task.terminal_at) == (State.COMPLETED, after(2))
    assert task.status_message.parts == [{"text": "Ten compared."}]
    assert [(one.artifact_id, one.parts) for one in task.artifacts.all()] == [
        ("report", [{"text": "# Ten"}])
    ]
    assert states_of(task) == [State.SUBMITTED, State.WORKING, State.COMPLETED]
    generations = list(task.events.values_list("generation", flat=True))
    assert generations == list(range(1, task.generation + 1))


def test_a_task_is_not_working_before_a_connector_acknowledges_it(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)

    connector.look()

    assert now(task).state == State.SUBMITTED


def test_an_ended_task_keeps_its_state(card: Card, caller_key: CallerKey) -> None:
    for end, to in itertools.product(Task.TERMINAL, State):
        task = ask(card, caller_key)
        transitions.transition(task.pk, end, at=after(1))

        with pytest.raises(TaskIsTerminal):
            transitions.transition(task.pk, to, at=after(2))

        assert (now(task).state, now(task).terminal_at) == (end, after(1))


def test_an_ended_task_accepts_no_message_and_no_cancel(card: Card, caller_key: CallerKey) -> None:
    task = ask(card, caller_key)
    lifecycle.cancel(task, by=SYSTEM, at=after(1))

    with pytest.raises(TaskIsTerminal):
        ask(card, caller_key, task_id=str(task.pk))
    with pytest.raises(TaskIsTerminal):
        lifecycle.cancel(task, by=SYSTEM, at=after(2))

    assert Message.objects.filter(task=task).count() == 1


@pytest.mark.parametrize("state", ["input_required", "auth_required"])
def test_a_task_that_waits_for_a_person_keeps_its_state(
    card: Card, caller_key: CallerKey, key: ApiKey, state: str
) -> None:
    task = paused(card, caller_key, FakeConnector(key), state)

    for to in (State.WORKING, State.COMPLETED):
        with pytest.raises(IllegalTransition):
            transitions.transition(task.pk, to, at=after(1))

    assert now(task).generation == task.generation


def test_another_callers_task_is_a_404(
    card: Card, caller_key: CallerKey, other_caller: CallerKey
) -> None:
    """The id of an anonymous caller's message does not identify the caller, either."""
    task = ask(card, caller_key)

    for caller in (other_caller, None):
        for task_id in (str(task.pk), str(uuid4()), "no-uuid"):
            with pytest.raises(TaskNotFound):
                ask(card, caller, task_id=task_id)


def test_the_same_context_id_of_another_caller_is_another_context(
    card: Card, caller_key: CallerKey, other_caller: CallerKey
) -> None:
    mine = ask(card, caller_key, context_id="quarter")
    again = ask(card, caller_key, context_id="quarter")
    theirs = ask(card, other_caller, context_id="quarter")
    nobodys = [ask(card, None, context_id="quarter") for _ in range(2)]

    assert mine.context == again.context
    assert nobodys[0].context == nobodys[1].context
    assert Context.objects.filter(context_id="quarter").count() == 3
    assert theirs.context not in {mine.context, nobodys[0].context}


def test_a_task_belongs_to_one_context(card: Card, caller_key: CallerKey) -> None:
    task = ask(card, caller_key, context_id="quarter")

    with pytest.raises(sending.ContextMismatch):
        ask(card, caller_key, task_id=str(task.pk), context_id="year")

    assert ask(card, caller_key, task_id=str(task.pk), context_id="quarter").pk == task.pk


def test_the_same_message_id_twice_is_two_tasks(card: Card, caller_key: CallerKey) -> None:
    """Callers choose the ids of messages freely: only an Idempotency-Key marks a repetition."""
    message = Incoming(message_id="m-1", parts=[{"text": "Go"}])

    first, second = (sending.send(card, caller_key, message, at=T0) for _ in range(2))

    assert first.pk != second.pk


def test_an_idempotency_key_makes_one_task_for_a_day(card: Card, caller_key: CallerKey) -> None:
    once = Idempotency("retry-1", "hash")

    first = ask(card, caller_key, idempotency=once)
    again = ask(card, caller_key, idempotency=once, at=after(hours=23))
    with pytest.raises(IdempotencyConflict):
        ask(card, caller_key, idempotency=Idempotency("retry-1", "other"), at=after(1))
    next_day = ask(card, caller_key, idempotency=once, at=after(hours=24))

    assert first.pk == again.pk != next_day.pk
    assert Run.objects.count() == 2


def test_an_idempotency_key_adds_one_message_to_a_task_for_a_day(
    card: Card, caller_key: CallerKey
) -> None:
    """A repeated message used to run the command again."""
    task, other = ask(card, caller_key), ask(card, caller_key)
    once = Idempotency("retry-1", "hash")

    for seconds in (1, 2):
        ask(card, caller_key, task_id=str(task.pk), idempotency=once, at=after(seconds))
    changed = Idempotency("retry-1", "other")
    with pytest.raises(IdempotencyConflict):
        ask(card, caller_key, task_id=str(task.pk), idempotency=changed, at=after(3))
    ask(card, caller_key, task_id=str(other.pk), idempotency=once, at=after(4))

    assert [row.messages.count() for row in (task, other)] == [2, 2]
    assert [row.runs.count() for row in (task, other)] == [2, 2]
    ask(card, caller_key, task_id=str(task.pk), idempotency=once, at=after(hours=25))
    assert task.messages.count() == 3


def test_a_message_that_is_sent_again_after_the_end_of_its_task_is_no_error(
    card: Card, caller_key: CallerKey
) -> None:
    task = ask(card, caller_key)
    once = Idempotency("retry-1", "hash")
    ask(card, caller_key, task_id=str(task.pk), idempotency=once)
    lifecycle.cancel(now(task), by=SYSTEM, at=after(1))

    again = ask(card, caller_key, task_id=str(task.pk), idempotency=once, at=after(2))

    assert (again.pk, again.state) == (task.pk, State.CANCELED)


def test_an_idempotency_key_reveals_no_other_callers_task(
    card: Card, caller_key: CallerKey, other_caller: CallerKey
) -> None:
    once = Idempotency("1", "hash")

    tasks = {
        ask(card, caller, idempotency=once).pk for caller in (caller_key, other_caller, None, None)
    }

    assert len(tasks) == 4


def test_a_full_queue_takes_no_more_tasks(card: Card, caller_key: CallerKey) -> None:
    tasks = [ask(card, caller_key) for _ in range(2)]
    queue_runs(tasks[0], run_queue.MAX_QUEUE - 2)

    with pytest.raises(sending.AgentBusy) as busy:
        ask(card, caller_key)

    assert busy.value.retry_after > 0
    assert Task.objects.count() == 2
    assert ask(card, caller_key, task_id=str(tasks[0].pk)).pk == tasks[0].pk


def test_a_caller_gets_changes_but_not_the_state_it_just_received(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    push = PushIn(config_id="mine", url="https://hooks.example.com/a2a")
    task = ask(card, caller_key, push=push)
    assert PushConfig.objects.get().task == task
    assert not task.notifications.exists()

    FakeConnector(key).run()
    queue_pushes()

    assert [one.generation for one in task.notifications.all()] == [2]


@pytest.mark.parametrize("policy", ["owner", "caller", "any"])
def test_the_reply_policy_decides_who_resumes_a_task(
    card: Card, caller_key: CallerKey, key: ApiKey, policy: str
) -> None:
    """If only people may reply, a caller's message is stored and does not answer the question."""
    card.reply_policy = policy
    connector = FakeConnector(key)
    task = paused(card, caller_key, connector, "input_required")

    again = ask(card, caller_key, "Approved, go ahead.", task_id=str(task.pk), at=after(5))

    assert again.generation > task.generation
    assert Message.objects.filter(task=task, source="caller").count() == 2
    if policy == "owner":
        assert again.state == State.INPUT_REQUIRED
        assert connector.look(at=after(6)) == []
    else:
        assert again.state == State.SUBMITTED
        (frame,) = connector.look(at=after(6))
        assert frame["message"]["parts"] == [{"type": "text", "text": "Approved, go ahead."}]
        assert frame["decision"] is None


def test_only_its_caller_resumes_a_task_that_waits_for_credentials(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = paused(card, caller_key, connector, "auth_required")

    again = ask(card, caller_key, "Signed in.", task_id=str(task.pk))

    assert again.state == State.SUBMITTED
    assert len(connector.look()) == 1


def test_a_message_to_a_working_task_waits_for_the_next_run(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    connector.run()

    again = ask(card, caller_key, "One more thing.", task_id=str(task.pk))

    assert (again.state, connector.look()) == (State.WORKING, [])
    assert [one.parts[0]["text"] for one in task.messages.all()][-1] == "One more thing."


def test_a_result_after_a_cancel_is_dropped_and_audited(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    given = connector.run()

    lifecycle.cancel(task, by=sending.caller_actor(caller_key), at=after(1))
    stop = connector.look(at=after(2))
    answered = connector.end(given, "completed", at=after(3), text="Done anyway.")

    assert stop == [{"type": "cancel", "dispatch_id": given["dispatch_id"]}]
    assert answered == [{"type": "done", "dispatch_id": given["dispatch_id"]}]
    assert now(task).state == State.CANCELED
    assert not Message.objects.filter(task=task, source="agent").exists()
    late = AuditEvent.objects.get(event="task.result_came_late")
    assert late.detail == {"state": "completed"}


def test_a_task_that_is_canceled_in_the_queue_never_runs(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)

    lifecycle.cancel(task, by=SYSTEM, at=after(1))

    assert connector.look(at=after(2)) == []
    assert Run.objects.get().state == Run.State.EXPIRED


def test_a_direct_answer_is_a_message_to_the_waiting_caller(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    assert lifecycle.reply_with(task) == lifecycle.Reply(task=task)

    connector.end(connector.run(), "completed", text="Forty-two.", direct=True)

    reply = lifecycle.reply_with(now(task))
    assert reply.task is None
    assert reply.message is not None
    assert reply.message.parts == [{"text": "Forty-two."}]


def test_a_caller_does_not_wait_for_an_offline_connector(card: Card, caller_key: CallerKey) -> None:
    task = ask(card, caller_key)

    with wrapped.counted(lifecycle, "long_poll") as waits:
        assert lifecycle.wait_for(task, seconds=30) == task
    assert not waits


def test_a_waiting_caller_is_answered_when_the_task_settles(
    card: Card, caller_key: CallerKey, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector = FakeConnector(key, at=timezone.now())
    task = ask(card, caller_key)

    def settle() -> None:
        assert now(task).state == State.SUBMITTED
        connector.end(connector.run(at=timezone.now()), "input_required", text="Which market?")

    clock = Clock(settle)
    wait_by(clock, monkeypatch)

    settled = lifecycle.wait_for(task, seconds=4)

    assert settled.state == State.INPUT_REQUIRED
    assert clock.waited == long_poll.STEP_SECONDS


def test_the_audit_stores_no_content_of_a_task(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key, "Secret plans", address="192.0.2.7")
    connector.end(connector.run(), "completed", text="Secret answer")

    rows = AuditEvent.objects.filter(object_kind="task")

    assert [row.event for row in rows] == ["task.received", "task.completed"]
    assert (rows[0].actor_name, rows[0].address) == (caller_key.name, "192.0.2.7")
    assert "Secret" not in json.dumps([[row.detail, row.object_name] for row in rows])
