"""Owners add answering rules, and turn them on after a trial."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access.members import NoLongerOwner
from accounts.audit import person
from accounts.models import AuditEvent, Team, User
from tests.fixtures.answering_rules import answering_terms
from tests.types import Answer, MakeAnsweringRule, MakeDelivery
from wake.answering import results, rules
from wake.answering.results import results_of
from wake.answering.trials import record_and_answer
from wake.assignment.rules import BadRule, RulesChanged
from wake.models import AnsweringRule, AnsweringVersion


def turn_on(rule: AnsweringRule, by: User, *, reason: str = "", version: int = 1) -> None:
    rules.turn_on(rule, version=version, reason=reason, by=person(by), at=timezone.now())
    rule.refresh_from_db()


def tried(
    rule: AnsweringRule, make_delivery: MakeDelivery, answer: Answer, *, agreed: int, other: int = 0
) -> None:
    statuses = ["approved"] * agreed + ["rejected"] * other
    for status in statuses:
        answer(make_delivery(), status)
    record_and_answer(at=timezone.now())


def test_a_rule_begins_in_shadow(make_answering_rule: MakeAnsweringRule) -> None:
    rule = make_answering_rule()

    assert (rule.state, rule.on_since) == ("shadow", None)
    assert AuditEvent.objects.get(event="answering_rule.added").object_id == str(rule.pk)


def test_a_rule_is_turned_on_after_twenty_answers_of_people(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    rule = make_answering_rule()
    tried(rule, make_delivery, answer, agreed=19)
    with pytest.raises(rules.NotTriedEnough):
        turn_on(rule, alice)

    tried(rule, make_delivery, answer, agreed=1)
    turn_on(rule, alice)

    assert (rule.state, rule.on_by, rule.on_reason) == ("on", "alice", "")
    event = AuditEvent.objects.get(event="answering_rule.turned_on")
    assert event.detail["agreed"] == 20


def test_one_contradiction_in_twenty_is_too_many(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    rule = make_answering_rule()
    tried(rule, make_delivery, answer, agreed=20, other=1)
    with pytest.raises(rules.NotTriedEnough):
        turn_on(rule, alice)
    with pytest.raises(rules.NotTriedEnough):
        turn_on(rule, alice, reason="  because ")

    turn_on(rule, alice, reason=" It was a typing error. ")

    assert (rule.state, rule.on_reason) == ("on", "It was a typing error.")
    event = AuditEvent.objects.get(event="answering_rule.turned_on")
    assert event.detail["reason"] == "It was a typing error."


def test_the_newest_hundred_answers_count(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    assert results.NEWEST == 100
    rule, other = make_answering_rule(), make_answering_rule("Other", types=["question"])
    tried(rule, make_delivery, answer, agreed=0, other=1)
    tried(rule, make_delivery, answer, agreed=2)
    versions = list(AnsweringVersion.objects.of_team(rule.team_id))

    with CaptureQueriesContext(connection) as queries:
        of_all = results.results_of_all(versions, newest=2)

    assert len(queries) == 1
    judged = {version.rule_id: of_all[version.pk] for version in versions}
    assert (judged[rule.pk].agreed, judged[rule.pk].contradicted) == (2, 0)
    assert judged[other.pk].judged == 0


def test_a_changed_rule_begins_in_shadow_with_no_results(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    rule = make_answering_rule()
    tried(rule, make_delivery, answer, agreed=20)
    turn_on(rule, alice)

    now = timezone.now()
    terms = answering_terms(most_a_day=60)
    changed = rules.change(rule, "Refunds", terms, version=1, by=person(alice), at=now)

    assert (changed.name, changed.state, changed.version) == ("Refunds", "shadow", 2)
    assert results_of(AnsweringVersion.objects.get(number=2)).judged == 0
    with pytest.raises(RulesChanged):
        turn_on(rule, alice, version=1)


def test_only_an_owner_of_this_moment_changes_rules(
    make_answering_rule: MakeAnsweringRule, team: Team, bob: User
) -> None:
    team.memberships.filter(user=bob).update(role="reviewer")
    rule = make_answering_rule()

    with pytest.raises(NoLongerOwner):
        turn_on(rule, bob, reason="I would like to.")
    with pytest.raises(NoLongerOwner):
        rules.remove(rule, version=1, by=person(bob), at=timezone.now())


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"types": ["alert"]}, "questions, outputs"),
        ({"types": []}, "questions, outputs"),
        ({"most_a_day": 0}, "1 to 500"),
        ({"most_a_day": 501}, "1 to 500"),
        ({"agents": ["6f2f2a2e-0000-4000-8000-000000000000"]}, "agents of this team"),
        ({"operator": "at_least", "pointer": "/a", "value": "x"}, "number"),
        ({"expires_at": timezone.now() + timedelta(days=91)}, "90 days"),
    ],
)
def test_a_rule_cannot_say_everything(
    make_answering_rule: MakeAnsweringRule, terms: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadRule, match=message):
        make_answering_rule(**terms)

    assert not AnsweringRule.objects.exists()


def test_a_team_has_at_most_twenty(make_answering_rule: MakeAnsweringRule) -> None:
    for number in range(20):
        make_answering_rule(f"Rule {number}")

    with pytest.raises(rules.TooManyAnsweringRules):
        make_answering_rule()


def test_a_removed_rule_stays_for_its_answers(
    make_answering_rule: MakeAnsweringRule, alice: User
) -> None:
    rule = make_answering_rule(on=True)

    rules.remove(rule, version=1, by=person(alice), at=timezone.now())

    rule.refresh_from_db()
    assert rule.state == "off"
    assert not AnsweringVersion.objects.of_team(rule.team_id).exists()
    assert AnsweringVersion.objects.exists()
