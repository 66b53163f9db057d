"""Owners change the rules; every version stays, and every change is an audit event."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.access.members import NoLongerOwner
from accounts.audit import person
from accounts.models import Agent, AuditEvent, Membership, Team, User
from tests.fixtures.rules import terms_with
from tests.types import MakeRule
from wake.assignment import rules
from wake.assignment.rules import BadRule, RulesChanged, TooManyRules
from wake.models import Rule, RuleVersion


def rules_version(team: Team) -> int:
    return Team.objects.get(pk=team.pk).rules_version


def listed(team: Team) -> list[str]:
    return [version.rule.name for version in RuleVersion.objects.of_team(team)]


def events() -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(event__startswith="rule.").order_by("pk")
    return list(rows.values_list("event", "object_name"))


def test_every_version_stays_and_every_change_is_audited(
    make_rule: MakeRule, team: Team, alice: User, bob: User
) -> None:
    by, now = person(alice, "192.0.2.1"), timezone.now()
    first, second = make_rule("First", people=[bob]), make_rule("Second", people=[bob])

    terms = terms_with(people=[alice.pk], only_they=True)
    rules.change(first, "The first", terms, rules_version=rules_version(team), by=by, at=now)
    rules.move(second, up=True, rules_version=rules_version(team), by=by, at=now)
    rules.switch(second, on=False, rules_version=rules_version(team), by=by, at=now)
    rules.switch(second, on=True, rules_version=rules_version(team), by=by, at=now)
    rules.remove(second, rules_version=rules_version(team), by=by, at=now)

    versions = RuleVersion.objects.filter(rule=first).order_by("number")
    assert [(one.number, one.people, one.only_they) for one in versions] == [
        (1, [bob.pk], False),
        (2, [alice.pk], True),
    ]
    assert listed(team) == ["The first"]
    assert Rule.objects.count() == 2
    assert events() == [
        ("rule.added", "First"),
        ("rule.added", "Second"),
        ("rule.changed", "The first"),
        ("rule.moved", "Second"),
        ("rule.turned_off", "Second"),
        ("rule.turned_on", "Second"),
        ("rule.removed", "Second"),
    ]


def test_what_changes_nothing_is_no_event(
    make_rule: MakeRule, team: Team, alice: User, bob: User
) -> None:
    rule, by, now = make_rule(people=[bob]), person(alice), timezone.now()
    before = rules_version(team)

    rules.move(rule, up=True, rules_version=before, by=by, at=now)
    rules.move(rule, up=False, rules_version=before, by=by, at=now)
    rules.switch(rule, on=True, rules_version=before, by=by, at=now)

    assert rules_version(team) == before
    assert len(events()) == 1


def test_each_change_has_a_version_that_all_agents_have(
    make_rule: MakeRule, team: Team, agent: Agent, alice: User, bob: User
) -> None:
    Agent.objects.create(team=team, agent_id="writing-agent-02")
    assert rules_version(team) == 0

    rule = make_rule(people=[bob])
    first = rules_version(team)
    rules.switch(
        rule, on=False, rules_version=first, by=person(alice), at=timezone.now() - timedelta(1)
    )

    assert rules_version(team) == first + 1  # also if the clock goes back
    assert set(Agent.objects.values_list("rules_version", flat=True)) == {first + 1}


def test_a_change_of_rules_that_changed_meanwhile_is_refused(
    make_rule: MakeRule, team: Team, alice: User, bob: User
) -> None:
    rule, by, now = make_rule(people=[bob]), person(alice), timezone.now()
    before = rules_version(team)
    make_rule("Another one", people=[bob])

    for change in (
        lambda: rules.move(rule, up=False, rules_version=before, by=by, at=now),
        lambda: rules.switch(rule, on=False, rules_version=before, by=by, at=now),
        lambda: rules.remove(rule, rules_version=before, by=by, at=now),
        lambda: rules.change(
            rule, "New", terms_with(role="owner"), rules_version=before, by=by, at=now
        ),
        lambda: rules.add(
            team, "New", terms_with(role="owner"), rules_version=before, by=by, at=now
        ),
    ):
        with pytest.raises(RulesChanged):
            change()

    assert len(events()) == 2


def test_only_owners_change_rules(team: Team, alice: User, bob: User) -> None:
    with pytest.raises(NoLongerOwner):
        rules.add(
            team,
            "Mine",
            terms_with(people=[bob.pk]),
            rules_version=0,
            by=person(bob),
            at=timezone.now(),
        )

    assert not Rule.objects.exists()


def test_a_team_has_at_most_fifty_rules(make_rule: MakeRule, bob: User) -> None:
    for _ in range(rules.MAX_RULES):
        make_rule(people=[bob])

    with pytest.raises(TooManyRules):
        make_rule(people=[bob])


@pytest.mark.parametrize(
    "terms",
    [
        {"people": []},
        {"people": [], "role": "reader"},
        {"types": ["letter"]},
        {"agents": ["00000000-0000-4000-8000-000000000000"]},
        {"operator": "is", "pointer": "total"},
        {"operator": "is", "pointer": "/~"},
        {"operator": "resembles", "pointer": "/total"},
        {"operator": "at_least", "pointer": "/total", "value": "much"},
        {"operator": "at_least", "pointer": "/total", "value": "NaN"},
        {"expires_at": timezone.now() - timedelta(days=1)},
        {"expires_at": timezone.now() + timedelta(days=91)},
    ],
)
def test_what_a_rule_cannot_say(team: Team, alice: User, bob: User, terms: Any) -> None:
    with pytest.raises(BadRule):
        rules.add(
            team,
            "Bad",
            terms_with(**{"people": [bob.pk], **terms}),
            rules_version=0,
            by=person(alice),
            at=timezone.now(),
        )

    assert not Rule.objects.exists()


@pytest.mark.parametrize("who", ["rita", "mallory"])
def test_readers_and_outsiders_cannot_be_assigned(
    team: Team, alice: User, who: str, request: pytest.FixtureRequest
) -> None:
    other = request.getfixturevalue(who)

    with pytest.raises(BadRule):
        rules.add(
            team,
            "Bad",
            terms_with(people=[other.pk]),
            rules_version=0,
            by=person(alice),
            at=timezone.now(),
        )


def test_a_deactivated_person_cannot_be_assigned(team: Team, alice: User, bob: User) -> None:
    """The form may have been opened before the change."""
    User.objects.filter(pk=bob.pk).update(is_active=False)

    with pytest.raises(BadRule):
        rules.add(
            team,
            "Bad",
            terms_with(people=[bob.pk]),
            rules_version=0,
            by=person(alice),
            at=timezone.now(),
        )


def test_an_agent_of_another_team_cannot_be_named(team: Team, alice: User, mallory: User) -> None:
    theirs = Agent.objects.create(team=mallory.teams.get(), agent_id="theirs")

    with pytest.raises(BadRule):
        rules.add(
            team,
            "Bad",
            terms_with(people=[alice.pk], agents=[str(theirs.pk)]),
            rules_version=0,
            by=person(alice),
            at=timezone.now(),
        )


def test_a_role_may_be_named_alone(make_rule: MakeRule, team: Team, alice: User) -> None:
    make_rule("Owners", role=Membership.Role.OWNER)

    assert listed(team) == ["Owners"]
