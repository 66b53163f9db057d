""" "`Idempotency-Key` on deliver, per agent, for 24 h" (docs/protocol.md, Extensions)"""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from accounts.models import Agent, AuditEvent
from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from tests.types import Age
from wake.models import Delivery

ONCE = {"Idempotency-Key": "report-42"}


def test_the_same_key_and_body_are_the_first_201_again(caller: AgentClient) -> None:
    """ "same key and same parsed JSON -> the first 201 again with `Idempotency-Replayed: true`" """
    first = caller.post(caller.payload(), **ONCE)

    again = caller.post(caller.payload(), **ONCE)

    assert again.status_code == first.status_code == 201
    assert again.content == first.content
    assert not first.has_header("Idempotency-Replayed")
    assert again["Idempotency-Replayed"] == "true"
    assert Delivery.objects.count() == 1
    assert AuditEvent.objects.filter(event="delivery.received").count() == 1


def test_the_body_is_compared_parsed(caller: AgentClient) -> None:
    body = caller.payload(details={"a": 1, "b": "ü"}, extra=[1, {"x": None}])
    first = caller.post(json.dumps(body), **ONCE)
    spelled_otherwise = json.dumps(dict(reversed(body.items())), indent=3, ensure_ascii=False)

    again = caller.post(spelled_otherwise.encode(), **ONCE)

    assert again.content == first.content


@pytest.mark.parametrize(
    "change",
    [
        {"headline": "Another"},
        {"details": {"a": True}},
        {"details": {"a": 1.0}},
        {"details": None},
        {"extra": 1},
    ],
)
def test_another_body_is_422(caller: AgentClient, change: dict[str, object]) -> None:
    """ "another body -> 422" """
    caller.post(caller.payload(details={"a": 1}), **ONCE)

    answer = caller.post(caller.payload(**{"details": {"a": 1}, **change}), **ONCE)

    error_of(answer, 422, "idempotency_conflict")
    assert Delivery.objects.count() == 1


def test_another_key_is_another_delivery(caller: AgentClient) -> None:
    for key in ["a", "A", "a ", "b"]:
        caller.post(caller.payload(), **{"Idempotency-Key": key + "x"})
    caller.post(caller.payload())
    caller.post(caller.payload())

    assert Delivery.objects.count() == 6


def test_it_is_per_agent(caller: AgentClient, others: AgentClient) -> None:
    """ "per agent" """
    caller.post(caller.payload(), **ONCE)

    answer = others.post(others.payload(), **ONCE)

    assert answer.status_code == 201
    assert Delivery.objects.count() == 2


@pytest.mark.parametrize("body", ["same", "other"])
def test_after_24_hours_the_key_is_free(caller: AgentClient, age: Age, body: str) -> None:
    """ "for 24 h" """
    first = caller.post(caller.payload(), **ONCE).json()["delivery_id"]

    age(first, hours=23, minutes=59)
    assert caller.post(caller.payload(), **ONCE)["Idempotency-Replayed"] == "true"
    age(first, minutes=1)
    answer = caller.post(caller.payload(summary=body), **ONCE)

    assert answer.status_code == 201
    assert not answer.has_header("Idempotency-Replayed")
    assert answer.json()["delivery_id"] != first
    assert caller.post(caller.payload(summary=body), **ONCE)["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("change", [{}, {"headline": "Another"}])
def test_after_a_withdrawal_the_key_is_free(caller: AgentClient, change: dict[str, object]) -> None:
    """The same request used to get the withdrawn delivery again, and no one was asked."""
    withdrawn = caller.post(caller.payload(), **ONCE).json()["delivery_id"]
    caller.withdraw(withdrawn)

    first = caller.post(caller.payload(**change), **ONCE)
    again = caller.post(caller.payload(**change), **ONCE)

    assert first.status_code == 201
    assert not first.has_header("Idempotency-Replayed")
    assert first.json()["delivery_id"] != withdrawn
    assert again.content == first.content
    assert Delivery.objects.count() == 2
    assert caller.withdraw(withdrawn).json()["delivery_id"] == withdrawn


def test_a_refused_delivery_does_not_use_the_key_up(caller: AgentClient) -> None:
    caller.post(caller.payload(headline=""), **ONCE)
    caller.post(caller.payload(agent_id="somebody-else"), **ONCE)
    Agent.objects.update(paused_at=timezone.now())
    caller.post(caller.payload(), **ONCE)
    Agent.objects.update(paused_at=None)

    answer = caller.post(caller.payload(), **ONCE)

    assert answer.status_code == 201
    assert not answer.has_header("Idempotency-Replayed")


def test_a_replay_moves_no_cursor(caller: AgentClient) -> None:
    caller.post(caller.payload(), **ONCE)
    since = caller.sweep()["next_since"]

    caller.post(caller.payload(), **ONCE)

    assert caller.sweep(since=since)["deliveries"] == []


@pytest.mark.parametrize("given", ["", "x" * 256, "\xfc", "a\tb", "a\x7fb"], ids=ascii)
def test_422_an_invalid_key(caller: AgentClient, given: str) -> None:
    error = error_of(
        caller.post(caller.payload(), **{"Idempotency-Key": given}), 422, "invalid_field"
    )

    assert [problem["field"] for problem in error["fields"]] == ["Idempotency-Key"]
    assert not Delivery.objects.exists()


def test_the_longest_key(caller: AgentClient) -> None:
    for _ in range(2):
        answer = caller.post(caller.payload(), **{"Idempotency-Key": "~" * 255})

    assert answer["Idempotency-Replayed"] == "true"
