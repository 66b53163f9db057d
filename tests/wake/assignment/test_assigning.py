"""A delivery is assigned in its transaction, to the people as they are at that moment."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import members
from accounts.audit import SYSTEM
from accounts.models import ApiKey, AuditEvent, Membership, User
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeDelivery, MakeRule
from tests.wake.mcp.client import McpClient
from wake.assignment.assigned import assigned_to, assignment_of
from wake.models import AssignedPerson, Assignment, Delivery

QUERIES = {"sqlite": 2, "postgresql": 0}


def names(delivery: Delivery | str) -> list[str]:
    pk = delivery.pk if isinstance(delivery, Delivery) else UUID(delivery)
    rows = AssignedPerson.objects.filter(assignment__deliveries=pk).order_by("name")
    return list(rows.values_list("name", flat=True))


def test_the_people_stay_as_they_were_at_delivery(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Reviewers", role="reviewer")
    before = make_delivery()

    bob.display_name = "Robert"
    bob.save()
    carla = User.objects.create_user("carla@example.com")
    Membership.objects.create(team=before.team, user=carla, role="reviewer")
    after = make_delivery()

    assert names(before) == ["bob"]
    assert names(after) == ["Robert", "carla"]


def test_people_and_a_role_are_assigned_once(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Both", people=[alice, bob], role="reviewer")

    assert names(make_delivery()) == ["alice", "bob"]


def test_those_who_may_not_answer_any_more_are_left_out(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Both", people=[alice, bob], only_they=True)
    carla = User.objects.create_user("carla@example.com")
    membership = Membership.objects.create(team=alice.teams.get(), user=carla, role="reviewer")
    make_rule("Carla's", people=[carla], types=["alert"])
    Membership.objects.filter(user=bob).update(role="reader")
    User.objects.filter(pk=carla.pk).update(is_active=False)

    assert names(make_delivery()) == ["alice"]
    assert membership.user == carla


def test_a_rule_whose_people_all_left_assigns_to_none(
    make_rule: MakeRule, make_delivery: MakeDelivery, bob: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    members.remove(Membership.objects.get(user=bob), by=SYSTEM)

    delivery = make_delivery()

    assigned = assignment_of(delivery)
    assert assigned
    assert (assigned.rule, assigned.is_left_alone) == ("Bo's", True)
    assert not assigned.blocks(bob.pk)


def test_a_person_who_leaves_later_blocks_none(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    delivery = make_delivery()
    assert assigned_to([delivery.pk])[delivery.pk].blocks(alice.pk)

    members.remove(Membership.objects.get(user=bob), by=SYSTEM)

    assert not assigned_to([delivery.pk])[delivery.pk].blocks(alice.pk)


def test_a_deleted_person_stays_in_the_assignment_by_name(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    make_rule("Bo's", people=[bob], only_they=True)
    delivery = make_delivery()

    bob.delete()

    assigned = assignment_of(delivery)
    assert assigned
    assert (assigned.names, assigned.is_left_alone) == ("bob", True)


def test_the_audit_names_the_rule_and_its_version(
    make_rule: MakeRule, make_delivery: MakeDelivery, bob: User
) -> None:
    rule = make_rule("Bo's", people=[bob])

    delivery = make_delivery()

    event = AuditEvent.objects.get(event="delivery.received", object_id=str(delivery.pk))
    assert (event.detail["rule"], event.detail["rule_version"]) == (str(rule.pk), 1)


def test_every_edge_assigns(
    make_rule: MakeRule, caller: AgentClient, key: ApiKey, bob: User
) -> None:
    make_rule("Bo's", people=[bob])
    bodies = [caller.payload(), caller.payload(headline="Another one")]

    alone = caller.deliver()
    batch = caller.client.post(
        "/wake/v1/deliveries",
        {"deliveries": bodies},
        content_type="application/json",
        headers=caller.headers,
    )
    together = caller.client.post(
        "/wake/v1/deliveries",
        {"deliveries": bodies, "atomic": True},
        content_type="application/json",
        headers=caller.headers,
    )
    tool = McpClient(key.text).structured(  # type: ignore[attr-defined]
        "deliver", type="output", headline="Report", summary="Ready."
    )

    assert names(alone) == names(tool["delivery_id"]) == ["bob"]
    for answer in (batch, together):
        for result in answer.json()["results"]:
            assert names(result["body"]["delivery_id"]) == ["bob"]
    assert Delivery.objects.filter(assignment__isnull=False).count() == 6


def test_a_replay_is_assigned_once(make_rule: MakeRule, caller: AgentClient, bob: User) -> None:
    make_rule("Bo's", people=[bob])

    for _ in range(2):
        caller.post(caller.payload(), **{"Idempotency-Key": "once"})

    assert Assignment.objects.count() == AssignedPerson.objects.count() == 1


@pytest.mark.parametrize("field", ["agent_id", "summary"])
def test_a_refused_delivery_assigns_nothing(
    make_rule: MakeRule, caller: AgentClient, bob: User, field: str
) -> None:
    make_rule("Bo's", people=[bob])

    caller.post(caller.payload(**{field: ""}))

    assert not Assignment.objects.exists()


def test_statements_of_a_delivery(make_rule: MakeRule, caller: AgentClient, bob: User) -> None:
    """A delivery takes no additional statement in a team without rules, or in a team whose rules do
    not match."""

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            caller.deliver()
        return len(queries)

    caller.deliver()
    without = count()
    make_rule("Alerts", people=[bob], types=["alert"])
    caller.deliver()
    assert count() == without
    make_rule("Everything", people=[bob])
    caller.deliver()
    caller.deliver()
    assert count() == without + QUERIES[connection.vendor]
