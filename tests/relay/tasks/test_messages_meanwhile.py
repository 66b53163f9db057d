"""A message to a task that is being worked on starts the next run of the task."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import ApiKey
from relay.models import CallerKey, Card, Run, Task
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, after, ask, now
from wake.models import Delivery

State = Task.State
METHODS = {"1.0": "GetTask", "0.3": "tasks/get"}


def text(frame: dict[str, Any]) -> str:
    sent: str = frame["message"]["parts"][0]["text"]
    return sent


def texts(frame: dict[str, Any]) -> list[str]:
    return [turn["parts"][0]["text"] for turn in frame["messages"]]


def state_of(task_id: str) -> str:
    return Task.objects.get(pk=task_id).state


@pytest.fixture
def task(card: Card, caller_key: CallerKey) -> Task:
    return ask(card, caller_key, "Compare them.")


def add(task: Task, words: str, seconds: float = 1) -> None:
    card = Card.objects.get(agent=task.agent)
    ask(card, task.caller, words, task_id=str(task.pk), at=after(seconds))


def test_each_message_is_answered_by_a_run_of_its_own_one_after_the_other(
    task: Task, connector: FakeConnector
) -> None:
    first = connector.run(at=after(0))
    add(task, "With Norway.", 1)
    add(task, "And Sweden.", 2)
    meanwhile = connector.look(at=after(3))
    connector.end(first, "completed", text="Compared.", at=after(4))
    goes_on = now(task)
    second = connector.run(at=after(5))
    connector.end(second, "completed", text="Norway, too.", at=after(6))
    third = connector.run(at=after(7))
    connector.end(third, "completed", text="And Sweden, too.", at=after(8))

    assert meanwhile == []
    assert goes_on.state == State.SUBMITTED
    assert goes_on.status_message is not None
    assert goes_on.status_message.parts == [{"text": "Compared."}]
    assert [text(frame) for frame in (first, second, third)] == [
        *("Compare them.", "With Norway.", "And Sweden.")
    ]
    assert texts(second) == ["Compare them.", "With Norway.", "Compared."]
    assert now(task).state == State.COMPLETED


def test_a_message_before_the_first_run_is_answered_too(
    task: Task, connector: FakeConnector
) -> None:
    add(task, "With Norway.")

    first = connector.run(at=after(2))
    connector.end(first, "completed", at=after(3))

    assert texts(first) == ["Compare them."]
    assert text(connector.run(at=after(4))) == "With Norway."


def test_the_caller_sees_which_messages_wait(either: Caller, key: ApiKey) -> None:
    task = either.send("Compare them.")["id"]
    connector = FakeConnector(key)
    first = connector.run()

    sent = either.send("With Norway.", taskId=task, messageId="m-2")
    read = either.result(METHODS[either.version], {"id": task})
    connector.end(first, "completed")
    connector.run()
    later = either.result(METHODS[either.version], {"id": task})

    assert sent["metadata"] == read["metadata"] == {"wakeWaitingMessages": ["m-2"]}
    assert "metadata" not in later


@pytest.mark.parametrize("end", ["failed", "rejected"])
def test_a_failed_task_drops_its_waiting_messages(
    end: str, task: Task, connector: FakeConnector
) -> None:
    first = connector.run()
    add(task, "With Norway.")

    connector.end(first, end, text="No.", at=after(2))

    assert now(task).state == end
    assert connector.look(at=after(3)) == []
    assert not Run.objects.filter(state=Run.State.QUEUED).exists()


def test_a_question_to_people_comes_before_a_waiting_message(
    task: Task, connector: FakeConnector
) -> None:
    first = connector.run()
    add(task, "With Norway.")

    connector.end(first, "input_required", text="Which ten?", at=after(2))

    assert now(task).state == State.INPUT_REQUIRED
    assert connector.look(at=after(3)) == []
    question = Delivery.objects.get(task_delivery__task=task, withdrawn_at=None)
    assert "With Norway." in str(question.details_json)


@pytest.mark.parametrize("end", ["input_required", "auth_required"])
def test_a_waiting_message_answers_a_question_to_the_caller(
    end: str, card: Card, task: Task, connector: FakeConnector
) -> None:
    Card.objects.filter(pk=card.pk).update(reply_policy=Card.ReplyPolicy.CALLER)
    first = connector.run()
    add(task, "With Norway.")

    connector.end(first, end, text="With whom?", at=after(2))

    assert now(task).state == State.SUBMITTED
    assert text(connector.run(at=after(3))) == "With Norway."


def test_a_run_that_is_lost_comes_before_the_messages_since(
    task: Task, connector: FakeConnector
) -> None:
    connector.run()
    add(task, "With Norway.")

    connector.send_frame("hello", at=after(2), **connector.said)
    Run.objects.on_lease().update(state=Run.State.QUEUED)

    assert text(connector.run(at=after(3))) == "Compare them."


def test_a_canceled_task_answers_nothing_more(task: Task, either: Caller, key: ApiKey) -> None:
    connector = FakeConnector(key)
    first = connector.run()
    add(task, "With Norway.")

    either.result("CancelTask" if either.version == "1.0" else "tasks/cancel", {"id": str(task.pk)})
    connector.end(first, "completed", at=after(2))

    assert state_of(str(task.pk)) == State.CANCELED
    assert [frame["type"] for frame in connector.look(at=after(3))] == []
