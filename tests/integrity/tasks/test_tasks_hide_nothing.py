"""The page of a task's question shows everything that the agent gets with the task, or names the
parts that it leaves out."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from relay.models import CallerKey, Card, Task
from relay.protocol.dialects import Incoming
from relay.tasks import sending
from tests.inbox.person import Person, text_of
from tests.relay.fake_connector import T0, FakeConnector, after
from wake.models import Delivery, Response

QUESTION: dict[str, Any] = {"text": "Shall I pay?"}


@pytest.fixture
def asked(card: Card, caller_key: CallerKey, connector: FakeConnector) -> Callable[..., Delivery]:
    """Sends a message, lets the agent's run end with `result`, and returns the question that people
    get."""

    def ask(*parts: Any, result: dict[str, Any] = QUESTION, **message: Any) -> Delivery:
        incoming = Incoming(message_id=str(uuid.uuid4()), parts=[*parts], **message)
        sending.send(card, caller_key, incoming, at=T0)
        connector.end(connector.run(at=after(1)), "input_required", at=after(2), **result)
        return Delivery.objects.unanswered().get()

    return ask


@pytest.fixture
def page(alice: User) -> Callable[[Delivery], str]:
    return lambda delivery: text_of(Person(alice).see(delivery))


def test_the_metadata_of_a_message_and_of_its_parts_is_on_the_page(
    asked: Callable[..., Delivery], page: Callable[[Delivery], str]
) -> None:
    parts = (
        {"text": "Pay EUR 10.", "metadata": {"iban": "DE02-of-the-part"}, "filename": "pay.txt"},
        {"data": {"a": 1}, "metadata": {"mode": "of-the-data"}, "mediaType": "application/x-run"},
        {"url": "https://example.com/a", "filename": "a", "metadata": {"mode": "of-the-link"}},
    )

    shown = page(asked(*parts, metadata={"amount": "9000-of-the-message", "wake": "of-the-caller"}))

    for text in ("DE02-of-the-part", "pay.txt", "of-the-data", "application/x-run", "of-the-link"):
        assert text in shown
    assert "9000-of-the-message" in shown
    assert "of-the-caller" in shown


def test_the_tasks_that_a_message_refers_to_are_on_the_page(
    asked: Callable[..., Delivery], page: Callable[[Delivery], str]
) -> None:
    assert "task-of-another-order" in page(
        asked({"text": "Pay it."}, reference_task_ids=["task-of-another-order"])
    )


def test_the_extensions_and_the_metadata_of_a_request_are_on_the_page(
    asked: Callable[..., Delivery], page: Callable[[Delivery], str]
) -> None:
    """An extension may change what the agent does with the message."""
    shown = page(
        asked(
            {"text": "Pay it."},
            metadata={"uses extensions": "9000-of-the-message"},
            extensions=["urn:pay-twice"],
            request_metadata={"amount": "9000-of-the-request"},
        )
    )

    for text in ("urn:pay-twice", "9000-of-the-message", "9000-of-the-request"):
        assert text in shown


def test_what_an_agent_sends_beside_its_blocks_is_on_the_page(
    asked: Callable[..., Delivery], page: Callable[[Delivery], str]
) -> None:
    blocks = {"wake_blocks": 1, "blocks": [{"type": "text", "text": "Shall I pay?"}]}
    parts = [
        {"data": {**blocks, "proposal": "pay 10"}},
        {"data": {**blocks, "proposal": "pay 9000", "command": "rm -rf /"}},
    ]
    artifact = {"artifactId": "a", "parts": [{"text": "A"}], "metadata": {"to": "of-the-artifact"}}
    message = {"parts": parts, "metadata": {"hidden": "of-the-question"}}

    shown = page(asked({"text": "Go."}, result={"message": message, "artifacts": [artifact]}))

    for text in ("pay 10", "pay 9000", "rm -rf /", "of-the-question", "of-the-artifact"):
        assert text in shown


def test_a_file_of_a_task_is_named_as_left_out(
    asked: Callable[..., Delivery], alice: User, page: Callable[[Delivery], str]
) -> None:
    question = asked({"text": "Run it."}, {"raw": "cm0gLXJmIC8=", "filename": "run.sh"})
    assert "run.sh, on the page of the task" in page(question)

    Person(alice).answer(question)

    answer = Response.objects.get()
    assert answer.all_in_sight is False
    assert "run.sh" in answer.left_out


def test_a_long_text_of_a_task_is_named_as_left_out(
    asked: Callable[..., Delivery], page: Callable[[Delivery], str]
) -> None:
    shown = page(asked({"text": f"{'All well. ' * 3_000} Delete everything."}))

    assert "Delete everything." not in shown
    assert "The end of a long text, on the page of the task" in shown


def test_older_messages_of_a_task_are_named_as_left_out(
    asked: Callable[..., Delivery],
    card: Card,
    caller_key: CallerKey,
    page: Callable[[Delivery], str],
) -> None:
    question = asked({"text": "Pay it."})
    task = Task.objects.get()

    for number in range(25):
        text = {"text": f"Message {number} of many."}
        incoming = Incoming(message_id=str(uuid.uuid4()), parts=[text], task_id=str(task.pk))
        sending.send(card, caller_key, incoming, at=after(3 + number))

    newest = Delivery.objects.unanswered().get()
    assert newest.pk != question.pk
    assert "5 earlier messages, on the page of the task" in page(newest)
