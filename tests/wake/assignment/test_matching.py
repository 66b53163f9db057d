"""The first rule that matches a delivery assigns it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import registration
from accounts.audit import SYSTEM, person
from accounts.models import Agent, ApiKey, Team, User
from tests.fixtures.rules import terms_with
from tests.types import MakeDelivery, MakeRule
from wake.assignment import rules
from wake.deliveries import deliver
from wake.models import Assignment, Delivery, Rule


def rules_version(team: Team) -> int:
    return Team.objects.get(pk=team.pk).rules_version


def rule_of(delivery: Delivery) -> str | None:
    found = Assignment.objects.filter(deliveries=delivery).first()
    return found.rule_version.rule.name if found and found.rule_version else None


@pytest.mark.parametrize(
    ("terms", "fields", "matches"),
    [
        ({}, {}, True),
        ({"types": ["output", "alert"]}, {"type": "alert"}, True),
        ({"types": ["question"]}, {"type": "alert"}, False),
        ({"thread_prefix": "refund-"}, {"thread": "refund-12"}, True),
        ({"thread_prefix": "refund-"}, {"thread": "no-refund-12"}, False),
        ({"thread_prefix": "refund-"}, {}, False),
        (
            {"pointer": "/order/total", "operator": "at_least", "value": "500"},
            {"details_json": '{"order": {"total": 501}}'},
            True,
        ),
        (
            {"pointer": "/order/total", "operator": "at_least", "value": "500"},
            {"details_json": '{"order": {"total": 499}}'},
            False,
        ),
        ({"types": ["output"], "thread_prefix": "a"}, {"thread": "b"}, False),
    ],
)
def test_a_rule_matches_if_everything_that_it_names_does(
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    bob: User,
    terms: Any,
    fields: Any,
    matches: bool,
) -> None:
    make_rule("Bo's", people=[bob], **terms)

    delivery = make_delivery(**fields)

    assert rule_of(delivery) == ("Bo's" if matches else None)


def test_a_rule_for_agents(
    make_rule: MakeRule, make_delivery: MakeDelivery, agent: Agent, team: Team, bob: User
) -> None:
    other = Agent.objects.create(team=team, agent_id="writing-agent-02")
    make_rule("Of the other", people=[bob], agents=[str(other.pk)])
    make_rule("Of this one", people=[bob], agents=[str(agent.pk)])

    assert rule_of(make_delivery()) == "Of this one"


def test_the_first_match_wins_in_the_order_of_the_list(
    make_rule: MakeRule, make_delivery: MakeDelivery, team: Team, alice: User, bob: User
) -> None:
    make_rule("First", people=[alice], types=["alert"])
    make_rule("Second", people=[bob])
    third = make_rule("Third", people=[alice])
    assert rule_of(make_delivery()) == "Second"

    rules.move(
        third, up=True, rules_version=rules_version(team), by=person(alice), at=timezone.now()
    )

    assert rule_of(make_delivery()) == "Third"
    assert rule_of(make_delivery(type="alert")) == "First"


def test_rules_that_are_off_removed_or_over_match_nothing(
    make_rule: MakeRule, make_delivery: MakeDelivery, team: Team, alice: User, bob: User
) -> None:
    by, now = person(alice), timezone.now()
    off, removed = make_rule("Off", people=[bob]), make_rule("Removed", people=[bob])
    make_rule("Over", people=[bob], expires_at=now + timedelta(days=1))
    rules.switch(off, on=False, rules_version=rules_version(team), by=by, at=now)
    rules.remove(removed, rules_version=rules_version(team), by=by, at=now)

    assert rule_of(make_delivery(at=now)) == "Over"
    assert rule_of(make_delivery(at=now + timedelta(days=1))) is None


def test_a_change_reaches_a_process_that_remembers_key_and_rules(
    make_rule: MakeRule, key: ApiKey, team: Team, alice: User, bob: User
) -> None:
    """Another process changed the rules. This process has the key and the rules in memory."""
    fields: Any = {
        "agent_id": key.agent.agent_id,
        "provider": "claude",
        "type": "output",
        "headline": "Report",
        "summary": "Ready.",
    }

    def delivered() -> Delivery:
        return deliver(key.agent, key=key, at=timezone.now(), **fields).delivery

    assert rule_of(delivered()) is None
    rule = make_rule("Bo's", people=[bob])
    assert rule_of(delivered()) == "Bo's"
    rules.switch(
        rule, on=False, rules_version=rules_version(team), by=person(alice), at=timezone.now()
    )
    assert rule_of(delivered()) is None


def test_a_new_agent_has_the_rules_of_its_team(make_rule: MakeRule, team: Team, bob: User) -> None:
    make_rule("Bo's", people=[bob])
    agent = Agent(team=team, agent_id="a-new-agent")

    registration.register(agent, by=SYSTEM)

    assert Agent.objects.get(pk=agent.pk).rules_version == rules_version(team) > 0


def test_rules_of_another_team_do_not_matter(make_delivery: MakeDelivery, mallory: User) -> None:
    theirs = mallory.teams.get()
    terms = terms_with(people=[mallory.pk])
    rules.add(theirs, "Theirs", terms, rules_version=0, by=person(mallory), at=timezone.now())

    assert rule_of(make_delivery()) is None
    assert Rule.objects.count() == 1
