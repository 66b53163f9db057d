"""Agents report what came of a delivery (docs/protocol.md, Outcome)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import AuditEvent, User
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from wake import outcomes, retention
from wake.models import Delivery, Failure, Outcome, Response, Retention
from wake.undo import PickedUp, take_back

pytestmark = pytest.mark.django_db


def report(caller: AgentClient, pk: str, body: Any, **headers: str) -> Any:
    return caller.client.post(
        f"/wake/v1/outcome/{pk}",
        body if isinstance(body, str) else json.dumps(body),
        content_type="application/json",
        headers={**caller.headers, **headers},
    )


@pytest.mark.parametrize("status", ["done", "failed", "skipped"])
def test_an_outcome_is_stored(status: str, caller: AgentClient) -> None:
    pk = caller.deliver()

    body = f'{{"status": "{status}", "summary": "re_3F", "details": {{"n": 1.0}}}}'

    stored = report(caller, pk, body)

    row = Outcome.objects.get()
    assert stored.status_code == 201
    assert list(stored.json()) == ["delivery_id", "status", "reported_at"]
    assert (stored.json()["delivery_id"], stored.json()["status"]) == (pk, status)
    assert (row.status, row.summary, row.details_json) == (status, "re_3F", '{"n": 1.0}')
    event = AuditEvent.objects.get(event="delivery.outcome")
    assert (event.actor_name, event.detail["status"]) == (caller.agent_id, status)
    assert "re_3F" not in json.dumps(event.detail)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "status"),
        ({"status": "perhaps"}, "status"),
        ({"status": "done", "summary": "x" * 281}, "summary"),
        ({"status": "done", "summary": "two\nlines"}, "summary"),
        ({"status": "done", "details": [1]}, "details"),
    ],
)
def test_a_wrong_field_is_named(body: Any, field: str, caller: AgentClient) -> None:
    refused = report(caller, caller.deliver(), body)

    assert refused.status_code in {400, 422}
    assert [each["field"] for each in refused.json()["error"]["fields"]] == [field]
    assert not Outcome.objects.exists()


def test_a_repeated_request_is_one_outcome(caller: AgentClient) -> None:
    pk, once = caller.deliver(), {"Idempotency-Key": "k"}

    first = report(caller, pk, {"status": "done"}, **once)
    again = report(caller, pk, {"status": "done"}, **once)
    other = report(caller, pk, {"status": "failed"}, **once)

    assert again.content == first.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert other.json()["error"]["code"] == "idempotency_conflict"
    assert Outcome.objects.count() == 1


def test_there_are_twenty_at_most(caller: AgentClient) -> None:
    pk = caller.deliver()
    for _ in range(outcomes.MAX_OUTCOMES):
        assert report(caller, pk, {"status": "failed"}).status_code == 201

    refused = report(caller, pk, {"status": "done"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "too_many_outcomes")


def test_outcomes_are_erased_with_the_content(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    pk = caller.deliver()
    answer(pk)
    report(caller, pk, {"status": "done", "summary": "sent", "details": "to Ann"})
    Retention.objects.create(team=caller.key.agent.team, days=30)
    at = timezone.now() + timedelta(days=31)

    assert retention.erase_old(at=at) == 1

    row = Outcome.objects.get()
    assert (row.status, row.summary, row.details_json) == ("done", "", None)
    refused = report(caller, pk, {"status": "done"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "erased")


def test_the_delivery_of_another_agent_is_a_404(caller: AgentClient) -> None:
    pk = caller.deliver()
    Delivery.objects.filter(pk=pk).update(mode="test")

    for each in (pk, "8c5c8f6e-0000-4000-8000-000000000000", "nothing"):
        assert report(caller, each, {"status": "done"}).status_code == 404


def test_a_reported_answer_cannot_be_taken_back(
    caller: AgentClient, alice: User, answer: Callable[..., Response]
) -> None:
    pk = caller.deliver()
    answer(pk)

    report(caller, pk, {"status": "failed"})

    with pytest.raises(PickedUp):
        take_back(Delivery.objects.get(), by=alice, at=database_now())
    response = Response.objects.get()
    assert response.picked_up_by == Response.Route.OUTCOME
    assert response.sent_at == response.picked_up_at is not None
    event = AuditEvent.objects.get(event="response.picked_up")
    assert (event.object_id, event.detail["route"]) == (pk, "outcome")


def test_a_report_keeps_an_earlier_pick_up(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    pk = caller.deliver()
    answer(pk)
    caller.poll(pk)

    report(caller, pk, {"status": "done"})

    assert Response.objects.get().picked_up_by == Response.Route.POLL


def test_a_held_answer_can_be_taken_back_after_a_report(
    caller: AgentClient, alice: User, answer: Callable[..., Response]
) -> None:
    pk = caller.deliver()
    answer(pk, held=True)

    report(caller, pk, {"status": "failed"})

    take_back(Delivery.objects.get(), by=alice, at=database_now())
    assert caller.poll(pk)["status"] == "pending"


def test_a_failure_ends_with_the_approval_that_was_taken_back(
    caller: AgentClient, alice: User, answer: Callable[..., Response]
) -> None:
    """Such a failure was once listed under a later approval."""
    pk = caller.deliver()
    answer(pk)
    delivery = Delivery.objects.get()
    failed = Outcome(delivery=delivery, status="failed", reported_at=database_now())
    outcomes.store(failed, by=SYSTEM)
    assert Failure.objects.filter(delivery=delivery).exists()

    take_back(delivery, by=alice, at=database_now())
    answer(pk)

    assert not Failure.objects.exists()
    assert Outcome.objects.get().status == "failed"
