"""A rule can say that an agent waits if no one answers in time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit import person
from accounts.models import Team, User
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeDelivery, MakeRule
from wake.assignment import rules
from wake.models import Delivery
from wake.proof.digest import content_digest, content_of


@pytest.mark.parametrize(
    ("plan", "stored"),
    [({}, "hold"), ({"on_timeout": "proceed"}, "hold"), ({"on_timeout": "abort"}, "abort")],
)
def test_silence_is_never_a_yes(
    make_rule: MakeRule, caller: AgentClient, plan: dict[str, str], stored: str
) -> None:
    make_rule(role="owner", must_wait=True)

    receipt = caller.post(caller.payload(timeout_seconds=60, **plan)).json()

    assert Delivery.objects.get().on_timeout == stored
    assert receipt.get("on_timeout") == (stored if stored == "hold" else None)


@pytest.mark.parametrize(
    "fields",
    [{"timeout_seconds": 60, "on_timeout": "hold"}, {"on_timeout": "proceed"}, {}],
    ids=["waits anyway", "no deadline", "no plan"],
)
def test_a_receipt_names_only_what_a_rule_changed(
    make_rule: MakeRule, caller: AgentClient, fields: dict[str, Any]
) -> None:
    make_rule(role="owner", must_wait=True)

    receipt = caller.post(caller.payload(**fields)).json()

    assert list(receipt) == ["delivery_id", "status", "created_at"]
    assert Delivery.objects.get().on_timeout == fields.get("on_timeout", "")


def test_without_such_a_rule_the_plan_is_the_agents(
    make_rule: MakeRule, caller: AgentClient
) -> None:
    make_rule(role="owner")

    receipt = caller.post(caller.payload(timeout_seconds=60, on_timeout="proceed")).json()

    assert Delivery.objects.get().on_timeout == "proceed"
    assert "on_timeout" not in receipt


def test_a_repeated_delivery_is_told_the_same(make_rule: MakeRule, caller: AgentClient) -> None:
    make_rule(role="owner", must_wait=True)
    body, once = caller.payload(timeout_seconds=60), {"Idempotency-Key": "once"}

    first, again = (caller.post(body, **once) for _ in range(2))

    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert again.json()["on_timeout"] == "hold"


def test_each_of_a_batch_is_told(make_rule: MakeRule, caller: AgentClient) -> None:
    make_rule(types=["question"], role="owner", must_wait=True)
    deliveries = [caller.payload(type=each, timeout_seconds=60) for each in ("question", "output")]

    answer = caller.client.post(
        "/wake/v1/deliveries",
        {"deliveries": deliveries},
        content_type="application/json",
        headers=caller.headers,
    )

    results = answer.json()["results"]
    assert [each["body"].get("on_timeout") for each in results] == ["hold", None]


def test_people_answer_what_applies(make_rule: MakeRule, make_delivery: MakeDelivery) -> None:
    """The digest belongs to the words on the page."""
    before = make_delivery(timeout_seconds=60, on_timeout="proceed")
    make_rule(role="owner", must_wait=True)

    waits = make_delivery(timeout_seconds=60, on_timeout="proceed")

    for delivery, plan in ((before, "proceed"), (waits, "hold")):
        assert content_of(delivery, files=[])["on_timeout"] == plan
        assert delivery.content_hash == content_digest(delivery, files=[])


def test_a_later_change_of_the_rule_changes_no_delivery(
    make_rule: MakeRule, make_delivery: MakeDelivery, team: Team, alice: User
) -> None:
    rule = make_rule(role="owner", must_wait=True)
    delivery = make_delivery(timeout_seconds=60)
    team.refresh_from_db()
    at = delivery.created_at + timedelta(seconds=1)

    rules.remove(rule, rules_version=team.rules_version, by=person(alice), at=at)

    delivery.refresh_from_db()
    assert delivery.on_timeout == "hold"
    assert make_delivery(timeout_seconds=60).on_timeout == ""
