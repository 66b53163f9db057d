"""A rule can limit the time in which an approval can be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import ApiKey, AuditEvent
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeDelivery, MakeRule
from wake.assignment.rules import BadRule
from wake.models import Delivery, Response


@pytest.mark.parametrize(
    ("own", "stored"),
    [({}, 600), ({"claim_within_seconds": 60}, 60), ({"claim_within_seconds": 900}, 600)],
)
def test_the_shorter_time_counts(
    make_rule: MakeRule, caller: AgentClient, own: dict[str, int], stored: int
) -> None:
    make_rule(role="owner", claim_within_seconds=600)

    receipt = caller.post(caller.payload(digest=True, **own)).json()

    assert Delivery.objects.get().claim_within_seconds == stored
    assert receipt["claim_within_seconds"] == stored


def test_a_delivery_that_asks_for_no_digest_gets_the_receipt_of_the_specification(
    make_rule: MakeRule, caller: AgentClient
) -> None:
    make_rule(role="owner", claim_within_seconds=600)

    receipt = caller.post(caller.payload()).json()

    assert list(receipt) == ["delivery_id", "status", "created_at"]
    assert Delivery.objects.get().claim_within_seconds == 600


def test_without_such_a_rule_the_time_is_the_agents(
    make_rule: MakeRule, caller: AgentClient
) -> None:
    make_rule(role="owner")

    receipts = [
        caller.post(caller.payload(digest=True, **own)).json()
        for own in ({"claim_within_seconds": 900}, {})
    ]

    assert [each.get("claim_within_seconds") for each in receipts] == [900, None]


def test_a_claim_after_the_time_of_the_rule_is_refused(
    make_rule: MakeRule,
    caller: AgentClient,
    answer: Callable[..., Response],
    age: Callable[..., None],
) -> None:
    make_rule(role="owner", claim_within_seconds=600)
    receipt = caller.post(caller.payload(digest=True, claim_within_seconds=900)).json()
    answer(receipt["delivery_id"])
    age(receipt["delivery_id"], seconds=601)

    claimed = caller.client.post(
        f"/wake/v1/claim/{receipt['delivery_id']}",
        json.dumps({"digest": receipt["digest"]}),
        content_type="application/json",
        headers=caller.headers,
    )

    assert claimed.json()["error"]["code"] == "approval_expired"


def test_a_delivery_that_this_server_takes_back_itself_has_no_limit(
    make_rule: MakeRule, make_delivery: MakeDelivery, key: ApiKey
) -> None:
    """Apps of this server, such as the app for A2A tasks, cannot claim."""
    make_rule(role="owner", claim_within_seconds=600)

    assert make_delivery(is_internal=True).claim_within_seconds is None


@pytest.mark.parametrize("seconds", [0, 59, 604_801])
def test_the_time_is_a_minute_to_a_week(make_rule: MakeRule, seconds: int) -> None:
    with pytest.raises(BadRule):
        make_rule(role="owner", claim_within_seconds=seconds)


@pytest.mark.parametrize("seconds", [60, 604_800])
def test_the_audit_has_the_time(make_rule: MakeRule, seconds: int) -> None:
    make_rule(role="owner", claim_within_seconds=seconds)

    detail: dict[str, Any] = AuditEvent.objects.get(event="rule.added").detail
    assert detail["claim_within_seconds"] == seconds
