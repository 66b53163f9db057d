"""An approval is used once (docs/protocol.md, Claim)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.access import key_texts
from accounts.agents import gates, keys, registration
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, Gate, Team, User
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from wake import wire
from wake.models import Claim, Delivery, Response
from wake.undo import PickedUp, take_back
from wake.withdrawals import withdraw_own

pytestmark = pytest.mark.django_db

ANY_DIGEST = "0" * 64


class Question:
    """Holds a delivery that asks for its digest, and the requests about it."""

    def __init__(self, caller: AgentClient, **fields: Any) -> None:
        self.caller = caller
        receipt = caller.post(caller.payload(type="question", digest=True, **fields)).json()
        self.pk, self.digest = receipt["delivery_id"], receipt["digest"]

    def claim(self, digest: str | None = None, *, text: str = "", **headers: str) -> Any:
        return self.caller.client.post(
            f"/wake/v1/claim/{self.pk}",
            json.dumps({"digest": digest or self.digest}),
            content_type="application/json",
            headers={**(bearer(text) if text else self.caller.headers), **headers},
        )

    def status(self, text: str) -> Any:
        return self.caller.client.get(f"/wake/v1/claim/{self.pk}", headers=bearer(text))


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def error(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"status_code": response.status_code, **response.json()["error"]}
    found.pop("message")
    return found


@pytest.fixture
def gate(team: Team, agent: Agent) -> tuple[Gate, str]:
    return gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())


@pytest.mark.parametrize("status", ["approved", "redirected"])
def test_an_approval_is_used(
    status: str, caller: AgentClient, answer: Callable[..., Response]
) -> None:
    question = Question(caller)
    answer(question.pk, status, feedback="Only half of it.")

    claimed = question.claim()

    row = Claim.objects.get()
    body = claimed.json()
    assert claimed.status_code == 200
    assert list(body) == ["delivery_id", "status", "claimed_at", "claim_id"]
    assert (body["delivery_id"], body["status"]) == (question.pk, status)
    assert body["claim_id"] == str(row.pk)
    event = AuditEvent.objects.get(event="response.claimed")
    assert (event.actor_name, event.object_id) == (caller.agent_id, question.pk)
    assert event.detail["content_hash"] == question.digest


def test_a_gate_does_not_use_what_a_person_changed(
    caller: AgentClient, answer: Callable[..., Response], gate: tuple[Gate, str]
) -> None:
    """The agent cannot read the person's change, and the answer's digest belongs to an action that
    no one approved."""
    question = Question(caller)
    answer(question.pk, "redirected", feedback="Only half of it.")

    refused = error(question.claim(text=gate[1]))

    assert refused == {"status_code": 409, "code": "not_approved", "status": "redirected"}
    assert question.claim().status_code == 200  # the agent reads the change


def test_it_is_used_once(caller: AgentClient, answer: Callable[..., Response]) -> None:
    question = Question(caller)
    answer(question.pk)
    first = question.claim().json()

    assert error(question.claim()) == {
        "status_code": 409,
        "code": "already_claimed",
        "claimed_at": first["claimed_at"],
    }
    assert Claim.objects.count() == 1


def test_the_same_request_again_gets_the_same_claim(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    question = Question(caller)
    answer(question.pk)
    once = {"Idempotency-Key": "refund-17"}
    first = question.claim(**once)

    again = question.claim(**once)

    assert again.content == first.content
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert error(question.claim(**{"Idempotency-Key": "other"}))["code"] == "already_claimed"
    assert error(question.claim(ANY_DIGEST, **once))["code"] == "already_claimed"


def test_nothing_else_is_approved(
    caller: AgentClient, answer: Callable[..., Response], alice: User
) -> None:
    waits, rejected, held, taken_back = (Question(caller) for _ in range(4))
    answer(rejected.pk, "rejected")
    answer(held.pk, held=True)
    answer(taken_back.pk, held=True)
    take_back(Delivery.objects.get(pk=taken_back.pk), by=alice, at=database_now())
    withdrawn = Question(caller)
    withdraw_own(caller.key, Delivery.objects.get(pk=withdrawn.pk).pk, at=database_now())

    refusals = [error(each.claim()) for each in (waits, rejected, held, taken_back, withdrawn)]

    assert {each["code"] for each in refusals} == {"not_approved"}
    assert {each["status_code"] for each in refusals} == {409}
    assert [each["status"] for each in refusals] == [
        *("pending", "rejected", "pending", "pending", "pending")
    ]
    assert not Claim.objects.exists()


def test_no_one_waits_for_the_answer_to_a_withdrawn_delivery(caller: AgentClient) -> None:
    question = Question(caller)
    caller.withdraw(question.pk)

    for refused in (question.claim(), caller.get(f"receipt/{question.pk}")):
        assert refused.status_code == 409
        message = refused.json()["error"]["message"]
        assert "If the agent has withdrawn it, no answer will come." in message


def test_an_answer_whose_hold_is_over_is_released_first(
    caller: AgentClient, answer: Callable[..., Response], age: Callable[..., None]
) -> None:
    question = Question(caller)
    answer(question.pk, held=True)
    age(question.pk, minutes=5)

    assert question.claim().status_code == 200


def test_another_digest_is_refused(caller: AgentClient, answer: Callable[..., Response]) -> None:
    question, other = Question(caller), Question(caller)
    answer(question.pk)

    assert error(question.claim(other.digest)) == {"status_code": 409, "code": "digest_mismatch"}
    assert question.claim().status_code == 200


@pytest.mark.parametrize(("age_seconds", "status_code"), [(119, 200), (125, 409)])
def test_an_approval_may_have_an_end(
    age_seconds: int,
    status_code: int,
    caller: AgentClient,
    answer: Callable[..., Response],
    age: Callable[..., None],
) -> None:
    question = Question(caller, claim_within_seconds=120)
    answer(question.pk)
    age(question.pk, seconds=age_seconds)

    claimed = question.claim()

    released_at = Response.objects.get().responded_at
    assert released_at is not None
    until = wire.instant(released_at + timedelta(seconds=120))
    assert claimed.status_code == status_code
    if status_code == 409:
        assert error(claimed) == {
            "status_code": 409,
            "code": "approval_expired",
            "claimable_until": until,
        }
    else:
        assert claimed.json()["claimable_until"] == until


def test_a_gate_sees_until_when_an_approval_can_be_used(
    caller: AgentClient, answer: Callable[..., Response], gate: tuple[Gate, str]
) -> None:
    question = Question(caller, claim_within_seconds=120)
    waiting = question.status(gate[1]).json()
    released_at = answer(question.pk).responded_at

    assert released_at is not None
    assert "claimable_until" not in waiting
    status = question.status(gate[1]).json()
    assert status["claimable_until"] == wire.instant(released_at + timedelta(seconds=120))


@pytest.mark.parametrize("seconds", [59, 604_801, "60", True])
def test_the_end_is_a_minute_to_a_week(seconds: Any, caller: AgentClient) -> None:
    payload = caller.payload(claim_within_seconds=seconds)

    assert caller.post(payload).status_code == 422


def test_a_used_approval_cannot_be_taken_back(
    caller: AgentClient, answer: Callable[..., Response], alice: User
) -> None:
    question = Question(caller)
    answer(question.pk)
    question.claim()

    with pytest.raises(PickedUp):
        take_back(Delivery.objects.get(), by=alice, at=database_now())

    assert Response.objects.get().picked_up_by == Response.Route.CLAIM


def test_a_paused_agent_uses_nothing(
    caller: AgentClient, answer: Callable[..., Response], gate: tuple[Gate, str]
) -> None:
    question = Question(caller)
    answer(question.pk)
    registration.pause(caller.key.agent, by=SYSTEM, at=database_now())

    assert [error(question.claim(text=text)) for text in ("", gate[1])] == [
        {"status_code": 403, "code": "paused"}
    ] * 2


@pytest.mark.parametrize("pk", ["8c5c8f6e-0000-4000-8000-000000000000", "nothing"])
def test_what_is_not_there_is_a_404(pk: str, caller: AgentClient) -> None:
    question = Question(caller)
    question.pk = pk

    assert error(question.claim()) == {"status_code": 404, "code": "not_found"}


def test_the_delivery_of_another_agent_is_a_404(
    caller: AgentClient, answer: Callable[..., Response], team: Team
) -> None:
    question = Question(caller)
    answer(question.pk)
    other = Agent.objects.create(team=team, agent_id="other-agent")

    assert error(question.claim(text=keys.mint(other, by=SYSTEM)[1]))["code"] == "not_found"
    assert (
        error(question.claim(text=keys.mint(caller.key.agent, by=SYSTEM, mode="test")[1]))["code"]
        == "not_found"
    )


@pytest.mark.parametrize("body", ["{}", '{"digest": "A"}', '{"digest": 1}', '{"digest": null}'])
def test_a_claim_needs_a_digest(body: str, caller: AgentClient) -> None:
    question = Question(caller)

    refused = caller.client.post(
        f"/wake/v1/claim/{question.pk}",
        body,
        content_type="application/json",
        headers=caller.headers,
    )

    assert refused.status_code in {400, 422}
    assert refused.json()["error"]["fields"][0]["field"] == "digest"


def test_a_gate_claims_for_the_agents_of_its_owner(
    caller: AgentClient, answer: Callable[..., Response], gate: tuple[Gate, str]
) -> None:
    question = Question(caller)
    waiting = question.status(gate[1]).json()
    answer(question.pk)

    claimed = question.claim(text=gate[1])

    assert waiting == {
        "delivery_id": question.pk,
        "status": "pending",
        "digest": question.digest,
        "claimed_at": None,
    }
    assert claimed.status_code == 200
    assert question.status(gate[1]).json()["claimed_at"] == claimed.json()["claimed_at"]
    row = Claim.objects.get()
    assert (row.gate, row.gate_name) == (gate[0], "Refunds")
    event = AuditEvent.objects.get(event="response.claimed")
    assert (event.actor_kind, event.actor_name) == ("gate", "Refunds")
    assert error(question.claim())["code"] == "already_claimed"


def test_a_gate_does_nothing_else(caller: AgentClient, gate: tuple[Gate, str], team: Team) -> None:
    question = Question(caller)
    headers = bearer(gate[1])
    client = caller.client
    other = Agent.objects.create(team=team, agent_id="other-agent")
    foreign = gates.issue(team, name="Other", agents=[other], by=SYSTEM, at=database_now())[1]

    assert client.get(f"/wake/v1/response/{question.pk}", headers=headers).status_code == 401
    assert client.get("/wake/v1/responses", headers=headers).status_code == 401
    assert (
        client.post(
            "/wake/v1/deliver",
            json.dumps(caller.payload()),
            content_type="application/json",
            headers=headers,
        ).status_code
        == 401
    )
    assert question.status(foreign).status_code == 404
    assert question.claim(text=foreign).status_code == 404
    assert question.status(caller.key.text).status_code == 404  # type: ignore[attr-defined]


def test_a_gate_claims_no_test_delivery(agent: Agent, gate: tuple[Gate, str]) -> None:
    row, text = keys.mint(agent, by=SYSTEM, mode="test")
    row.text = text  # type: ignore[attr-defined]
    question = Question(AgentClient(row, agent.agent_id))

    assert question.claim(text=gate[1]).status_code == 404


def test_a_revoked_or_expired_gate_is_unauthorized(
    caller: AgentClient, gate: tuple[Gate, str], team: Team, agent: Agent
) -> None:
    question = Question(caller)
    gates.revoke(gate[0], by=SYSTEM, at=database_now())
    ended = timezone.now() - timedelta(seconds=1)
    expired = gates.issue(
        team, name="Old", agents=[agent], by=SYSTEM, expires_at=ended, at=database_now()
    )[1]
    unknown = key_texts.new_key(gates.KIND)

    for text in (gate[1], expired, unknown, "wk_gate_short"):
        assert question.status(text).status_code == 401
        assert question.claim(text=text).status_code == 401


def test_a_gate_has_agents_of_its_own_team(team: Team, agent: Agent) -> None:
    other = Agent.objects.create(
        team=Team.objects.create(name="Other", slug="other"), agent_id="theirs"
    )

    for agents in ([], [agent, other]):
        with pytest.raises(gates.NoAgents):
            gates.issue(team, name="x", agents=agents, by=SYSTEM, at=database_now())


def test_a_team_has_25_gates(team: Team, agent: Agent) -> None:
    at = database_now()
    issued = [
        gates.issue(team, name=str(number), agents=[agent], by=SYSTEM, at=at)[0]
        for number in range(gates.MAX_USABLE)
    ]

    with pytest.raises(gates.TooManyGates):
        gates.issue(team, name="one more", agents=[agent], by=SYSTEM, at=at)

    gates.revoke(issued[0], by=SYSTEM, at=at)
    gates.issue(team, name="one more", agents=[agent], by=SYSTEM, at=at)
