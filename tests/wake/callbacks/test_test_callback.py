"""An owner sends a test callback to a receiver and sees the result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents.signing_secrets import secrets_of
from accounts.models import Agent, AuditEvent, SigningSecret
from tests.inbox.person import Person, text_of
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.verifying import verify, verify_standard
from wake.models import Callback, Delivery


def send_test(person: Person, agent: Agent, url: str) -> Any:
    return person.client.post(f"/agents/{agent.pk}/test-callback/", {"url": url})


def test_a_test_callback_is_signed_and_sent_once(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    page = text_of(send_test(alices, agent, receiver.url))

    assert "Delivered Response 200" in page
    [arrival] = receiver.received
    [secret] = secrets_of(agent.pk)
    body = json.loads(arrival.body)
    assert (body["status"], body["feedback"], body["edited_content"]) == ("pending", None, None)
    assert arrival.headers["X-Wake-Delivery-Id"] == body["delivery_id"]
    assert verify(arrival.body, arrival.headers["X-Wake-Signature"], secret=secret)
    assert verify_standard(arrival.body, arrival.headers, secret=secret, at=timezone.now())
    assert not Callback.objects.exists()
    assert not Delivery.objects.exists()
    event = AuditEvent.objects.get(event="callback.rehearsed")
    assert (event.actor_name, event.detail) == ("alice", {"host": f"127.0.0.1:{receiver.port}"})


def test_the_receivers_answer_is_shown_as_text(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    receiver.then(answering(500, b"<script>alert(1)</script>"))

    page = send_test(alices, agent, receiver.url)

    assert "Failed Response 500" in text_of(page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.content.decode()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://elsewhere.example.com/", "is not one of this team's callback hosts"),
        ("https://10.0.0.1/", "Callbacks go to names, not to IP addresses."),
        ("not an address", "must not contain spaces"),
    ],
)
def test_a_test_callback_follows_the_allowlist(
    alices: Person, agent: Agent, url: str, words: str
) -> None:
    page = text_of(send_test(alices, agent, url))

    assert "Failed" in page
    assert words in page
    assert not AuditEvent.objects.filter(event="callback.rehearsed").exists()


def test_without_a_secret_no_test_callback_is_sent(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    SigningSecret.objects.update(retired_at=timezone.now())

    page = text_of(send_test(alices, agent, receiver.url))

    assert "This agent has no signing secret" in page
    assert receiver.received == []


def test_the_number_of_test_callbacks_is_limited(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    for _ in range(10):
        assert send_test(alices, agent, receiver.url).status_code != 429

    answer = send_test(alices, agent, receiver.url)

    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert "Too many test callbacks." in text_of(answer)
    assert len(receiver.received) == 10


@pytest.mark.parametrize("role", ["bob", "rita"])
def test_only_owners_send_one(
    role: str, request: pytest.FixtureRequest, agent: Agent, receiver: Receiver
) -> None:
    person = Person(request.getfixturevalue(role))

    answer = send_test(person, agent, receiver.url)

    assert answer.status_code == 403
    assert receiver.received == []
