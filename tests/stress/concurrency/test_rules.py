"""The rules of a team change concurrently, also while agents deliver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.audit import person
from accounts.models import Agent, ApiKey, AuditEvent, Team, User
from tests.fixtures.rules import terms_with
from tests.stress.concurrency.threads import at_once
from tests.types import MakeDelivery, MakeRule
from wake.assignment import rules
from wake.assignment.escalation import escalate_due
from wake.deliveries import deliver
from wake.models import AssignedPerson, Delivery, Response, Rule, RuleVersion
from wake.models.rules import EscalationStep
from wake.responses import respond


def moving(rule: Rule, *, up: bool, rules_version: int, by: User) -> Callable[[], str]:
    def move() -> str:
        try:
            rules.move(rule, up=up, rules_version=rules_version, by=person(by), at=timezone.now())
        except rules.RulesChanged:
            return "changed"
        return "moved"

    return move


def test_of_two_changes_of_the_order_one_is_made(
    make_rule: MakeRule, team: Team, alice: User, bob: User
) -> None:
    """Both owners saw the same list, and the second owner's click would move another rule."""
    first, _, third = [make_rule(name, people=[bob]) for name in ("1", "2", "3")]
    rules_version = Team.objects.get(pk=team.pk).rules_version

    outcomes = at_once(
        *[moving(third, up=True, rules_version=rules_version, by=alice) for _ in range(3)],
        *[moving(first, up=False, rules_version=rules_version, by=alice) for _ in range(3)],
    )

    assert Counter(outcomes) == {"moved": 1, "changed": 5}
    assert _order(team) in (["1", "3", "2"], ["2", "1", "3"])
    positions = Rule.objects.filter(team=team).values_list("position", flat=True)
    assert sorted(positions) == [1, 2, 3]
    assert AuditEvent.objects.filter(event="rule.moved").count() == 1


def _order(team: Team) -> list[str]:
    return [version.rule.name for version in RuleVersion.objects.of_team(team)]


def test_deliveries_follow_the_rules_of_their_moment(
    make_rule: MakeRule, key: ApiKey, team: Team, alice: User, bob: User
) -> None:
    """A change waits for the deliveries that began before it, and later deliveries see the change.
    Each delivery is assigned by one of the two versions, and to all people of that version."""
    rule = make_rule(people=[bob])
    fields: Any = {"agent_id": key.agent.agent_id, "provider": "claude", "type": "output"}
    fields |= {"headline": "Report", "summary": "Ready."}

    def delivering() -> str:
        for _ in range(10):
            deliver(key.agent, key=key, at=timezone.now(), **fields)
        return "delivered"

    def changing() -> str:
        for number in range(6):
            terms = terms_with(people=[[alice.pk], [bob.pk]][number % 2])
            rules_version = Team.objects.get(pk=team.pk).rules_version
            rules.change(
                rule,
                "A rule",
                terms,
                rules_version=rules_version,
                by=person(alice),
                at=timezone.now(),
            )
        return "changed"

    outcomes = at_once(delivering, delivering, changing)

    assert Counter(outcomes) == {"delivered": 2, "changed": 1}
    deliveries = Delivery.objects.select_related("assignment__rule_version")
    assert len(deliveries) == 20
    for delivery in deliveries:
        assert delivery.assignment
        assert delivery.assignment.rule_version
        people = delivery.assignment.people.values_list("user", flat=True)
        assert delivery.assignment.rule_version.people == list(people)
    versions = set(Agent.objects.values_list("rules_version", flat=True))
    assert versions == {Team.objects.get(pk=team.pk).rules_version}


def test_no_step_of_escalation_follows_an_answer(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User, bob: User
) -> None:
    """Two workers escalate a delivery while a person answers it. A step comes before the answer, or
    not at all."""
    make_rule(people=[alice], escalation=[EscalationStep(minutes=1, people=[bob.pk], role="")])
    deliveries = [make_delivery() for _ in range(20)]
    later = timezone.now() + timedelta(minutes=2)

    def escalating() -> int:
        return sum(escalate_due(at=later) for _ in range(5))

    def answering() -> int:
        for delivery in deliveries:
            respond(
                delivery,
                by=alice,
                status="approved",
                content_hash=delivery.content_hash,
                at=timezone.now(),
            )
        return 0

    added = sum(at_once(escalating, escalating, answering))

    assert Response.objects.count() == 20
    events = AuditEvent.objects.filter(event="delivery.escalated")
    assert AssignedPerson.objects.filter(user=bob).count() == events.count() == added
    answered = dict(
        AuditEvent.objects.filter(event="delivery.answered").values_list("object_id", "pk")
    )
    assert [event.pk for event in events if event.pk > answered[event.object_id]] == []
