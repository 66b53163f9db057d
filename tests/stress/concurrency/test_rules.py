"""The rules of a team change concurrently, also while agents deliver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from accounts.audit import person
from accounts.models import Agent, ApiKey, AuditEvent, Team, User
from tests.fixtures.rules import terms_with
from tests.stress.concurrency.threads import at_once
from tests.types import MakeRule
from wake.assignment import rules
from wake.deliveries import deliver
from wake.models import AssignedPerson, Assignment, Delivery, Rule, RuleVersion


def moving(rule: Rule, *, up: bool, seen: int, by: User) -> Callable[[], str]:
    def move() -> str:
        try:
            rules.move(rule, up=up, seen=seen, by=person(by), at=timezone.now())
        except rules.RulesChanged:
            return "changed"
        return "moved"

    return move


def test_of_two_changes_of_the_order_one_is_made(
    make_rule: MakeRule, team: Team, alice: User, bob: User
) -> None:
    """Both owners saw the same list, and the second one's click would move another rule."""
    first, _, third = [make_rule(name, people=[bob]) for name in ("1", "2", "3")]
    seen = Team.objects.get(pk=team.pk).rules_version

    outcomes = at_once(
        *[moving(third, up=True, seen=seen, by=alice) for _ in range(3)],
        *[moving(first, up=False, seen=seen, by=alice) for _ in range(3)],
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
    """A change waits for the deliveries before it, and those after it see it: each delivery is
    assigned to one of the two, and to all of the people of its version."""
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
            seen = Team.objects.get(pk=team.pk).rules_version
            rules.change(rule, "A rule", terms, seen=seen, by=person(alice), at=timezone.now())
        return "changed"

    outcomes = at_once(delivering, delivering, changing)

    assert Counter(outcomes) == {"delivered": 2, "changed": 1}
    assert Assignment.objects.count() == Delivery.objects.count() == 20
    for assigned in AssignedPerson.objects.select_related("assignment__rule_version"):
        version = assigned.assignment.rule_version
        assert version
        assert version.people == [assigned.user_id]
    assert AssignedPerson.objects.count() == 20
    versions = set(Agent.objects.values_list("rules_version", flat=True))
    assert versions == {Team.objects.get(pk=team.pk).rules_version}
