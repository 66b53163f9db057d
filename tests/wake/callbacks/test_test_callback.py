"""A callback that carries no answer, from an owner's page to a receiver and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from accounts import throttles
from accounts.models import Agent, AuditEvent, SigningSecret, User
from accounts.signing_secrets import secrets_of
from tests.inbox.people import Person, text_of
from tests.outgoing.conftest import Receiver, answering
from wake.models import Callback, Delivery
from wake.signatures import verify, verify_standard


@pytest.fixture
def alices(alice: User) -> Person:
    return Person(alice)


def rehearse(person: Person, agent: Agent, url: str) -> Any:
    return person.client.post(f"/agents/{agent.pk}/rehearsal/", {"url": url})


def test_it_is_signed_arrives_once_and_answers_nothing(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    page = text_of(rehearse(alices, agent, receiver.url))

    assert "It arrived The other side answered 200" in page
    [got] = receiver.received
    [secret] = secrets_of(agent.pk)
    told = json.loads(got.body)
    assert (told["status"], told["feedback"], told["edited_content"]) == ("pending", None, None)
    assert got.headers["X-Wake-Delivery-Id"] == told["delivery_id"]
    assert verify(got.body, got.headers["X-Wake-Signature"], secret=secret)
    assert verify_standard(got.body, got.headers, secret=secret, at=timezone.now())
    assert not Callback.objects.exists()
    assert not Delivery.objects.exists()
    event = AuditEvent.objects.get(event="callback.rehearsed")
    assert (event.actor_name, event.detail) == ("alice", {"host": f"127.0.0.1:{receiver.port}"})


def test_what_the_other_side_said_is_shown_as_text(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    receiver.then(answering(500, b"<script>alert(1)</script>"))

    page = rehearse(alices, agent, receiver.url)

    assert "It did not arrive The other side answered 500" in text_of(page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.content.decode()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://elsewhere.example.com/", "is not on the list of hosts"),
        ("https://10.0.0.1/", "Callbacks go to names, not to IP addresses."),
        ("not an address", "has no spaces"),
    ],
)
def test_it_goes_nowhere_else_than_callbacks_may(
    alices: Person, agent: Agent, url: str, words: str
) -> None:
    page = text_of(rehearse(alices, agent, url))

    assert "It did not arrive" in page
    assert words in page
    assert not AuditEvent.objects.filter(event="callback.rehearsed").exists()


def test_without_a_secret_nothing_leaves_unsigned(
    alices: Person, agent: Agent, receiver: Receiver
) -> None:
    SigningSecret.objects.update(retired_at=timezone.now())

    page = text_of(rehearse(alices, agent, receiver.url))

    assert "This agent has no signing secret" in page
    assert receiver.received == []


def test_nobody_sends_one_after_the_other(
    alices: Person, agent: Agent, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttles, "REHEARSALS", "0/m")

    answer = rehearse(alices, agent, receiver.url)

    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert "Too many in a row." in text_of(answer)
    assert receiver.received == []


@pytest.mark.parametrize("role", ["bob", "rita"])
def test_only_owners_send_one(
    role: str, request: pytest.FixtureRequest, agent: Agent, receiver: Receiver
) -> None:
    person = Person(request.getfixturevalue(role))

    answer = rehearse(person, agent, receiver.url)

    assert answer.status_code == 403
    assert receiver.received == []
