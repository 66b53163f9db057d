"""Adds, changes, switches and removes the answering rules of a team.

A rule begins in shadow: it records what it would have approved, and approves nothing. A changed
rule begins in shadow again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.access import members
from accounts.audit import Actor, record
from accounts.models import Team
from wake.answering.results import results_of
from wake.assignment.rules import BadRule, MatchTerms, RulesChanged, check_match
from wake.models import AnsweringRule, AnsweringVersion, Delivery

MAX_RULES = 20
MAX_A_DAY = 500
MAX_DAYS_FOR_PEOPLE = 30
SHORTEST_REASON = 10
# An update needs no answer, and an alert is for a person.
TYPES = (Delivery.Type.QUESTION, Delivery.Type.OUTPUT)

State = AnsweringRule.State


class TooManyAnsweringRules(Exception):
    """A team can have 20 answering rules. Remove one first."""


class NotTriedEnough(Exception):
    """Too little agreement yet. Give a reason (at least 10 characters) to turn it on anyway."""


class AnsweringTerms(MatchTerms):
    """Lists the conditions of a rule, which are the columns of a version."""

    most_a_day: int
    ask_people_days: int


@transaction.atomic
def add(team: Team, name: str, terms: AnsweringTerms, *, by: Actor, at: datetime) -> AnsweringRule:
    """Adds a rule in shadow. Raises TooManyAnsweringRules, BadRule or NoLongerOwner."""
    members.hold_as_owner(team.pk, by=by)
    if AnsweringRule.objects.filter(team=team, removed_at__isnull=True).count() >= MAX_RULES:
        raise TooManyAnsweringRules(TooManyAnsweringRules.__doc__)
    _check(team.pk, terms, at=at)
    rule = AnsweringRule.objects.create(
        team=team, name=name, state=State.SHADOW, version=1, created_at=at
    )
    _store(rule, terms, by=by, at=at)
    _record("answering_rule.added", rule, by=by, at=at, **_detail(terms))
    return rule


@transaction.atomic
def change(
    rule: AnsweringRule, name: str, terms: AnsweringTerms, *, version: int, by: Actor, at: datetime
) -> AnsweringRule:
    """Adds a version, which begins in shadow. `version` is the one that the person saw. Raises
    RulesChanged, BadRule or NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    _check(rule.team_id, terms, at=at)
    before, rule.name = rule.name, name
    rule.version += 1
    rule.state, rule.on_since, rule.stopped_itself_at = State.SHADOW, None, None
    rule.save(update_fields=["name", "version", "state", "on_since", "stopped_itself_at"])
    _store(rule, terms, by=by, at=at)
    _record("answering_rule.changed", rule, by=by, at=at, before=before, **_detail(terms))
    return rule


@transaction.atomic
def turn_on(
    rule: AnsweringRule, *, version: int, reason: str = "", by: Actor, at: datetime
) -> None:
    """Lets the rule approve. A reason of at least ten characters is required if people gave fewer
    than 20 answers to compare with, or if more than one in a hundred contradicts the rule. Raises
    RulesChanged, NotTriedEnough or NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    if rule.state == State.ON:
        return
    newest = AnsweringVersion.objects.get(rule=rule, number=rule.version)
    results, reason = results_of(newest), reason.strip()
    if not results.is_enough and len(reason) < SHORTEST_REASON:
        raise NotTriedEnough(NotTriedEnough.__doc__)
    rule.state, rule.on_since, rule.stopped_itself_at = State.ON, at, None
    rule.on_by, rule.on_reason = by.name[:80], "" if results.is_enough else reason
    rule.save(update_fields=["state", "on_since", "stopped_itself_at", "on_by", "on_reason"])
    counts = {"agreed": results.agreed, "contradicted": results.contradicted}
    _record("answering_rule.turned_on", rule, by=by, at=at, reason=rule.on_reason, **counts)


@transaction.atomic
def turn_off(
    rule: AnsweringRule, *, shadow: bool = False, version: int, by: Actor, at: datetime
) -> None:
    """Ends the rule's approvals immediately. With `shadow`, the rule still records what it would
    approve. Raises RulesChanged or NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    state = State.SHADOW if shadow else State.OFF
    if rule.state == state:
        return
    rule.state, rule.on_since, rule.stopped_itself_at = state, None, None
    rule.save(update_fields=["state", "on_since", "stopped_itself_at"])
    event = "answering_rule.back_to_shadow" if shadow else "answering_rule.turned_off"
    _record(event, rule, by=by, at=at)


@transaction.atomic
def answer_again(
    rule: AnsweringRule, *, seen: datetime, version: int, by: Actor, at: datetime
) -> None:
    """Lets the rule approve again, if it is on, after people refused similar deliveries. `seen` is
    the time of the newest refusal that the owner saw; later refusals still count. Raises
    RulesChanged or NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    rule.counts_refusals_after = min(seen, at)
    rule.save(update_fields=["counts_refusals_after"])
    _record("answering_rule.answers_again", rule, by=by, at=at, seen=seen.isoformat())


@transaction.atomic
def remove(rule: AnsweringRule, *, version: int, by: Actor, at: datetime) -> None:
    """Takes the rule off the list. The rule and its versions stay for the answers that it gave.
    Raises RulesChanged or NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    rule.removed_at, rule.state, rule.on_since = at, State.OFF, None
    rule.save(update_fields=["removed_at", "state", "on_since"])
    _record("answering_rule.removed", rule, by=by, at=at)


def _held(rule: AnsweringRule, *, version: int, by: Actor) -> AnsweringRule:
    """Locks the team and then the rule; an approval waits for that lock."""
    members.hold_as_owner(rule.team_id, by=by)
    held = AnsweringRule.objects.select_for_update().get(pk=rule.pk)
    if held.removed_at is not None or held.version != version:
        raise RulesChanged(RulesChanged.__doc__)
    return held


def _check(team_id: int, terms: AnsweringTerms, *, at: datetime) -> None:
    check_match(team_id, terms, at=at)
    if not terms["types"] or not set(terms["types"]) <= set(TYPES):
        raise BadRule("Choose questions, outputs, or both.")
    if not 1 <= terms["most_a_day"] <= MAX_A_DAY:
        raise BadRule(f"A rule approves 1 to {MAX_A_DAY} deliveries a day.")
    if not 1 <= terms["ask_people_days"] <= MAX_DAYS_FOR_PEOPLE:
        raise BadRule(f"Ask people for 1 to {MAX_DAYS_FOR_PEOPLE} days.")


def _store(rule: AnsweringRule, terms: AnsweringTerms, *, by: Actor, at: datetime) -> None:
    AnsweringVersion.objects.create(
        rule=rule, number=rule.version, created_at=at, created_by=by.name[:80], **terms
    )


def _detail(terms: AnsweringTerms) -> dict[str, Any]:
    return {**terms, "expires_at": terms["expires_at"].isoformat()}


def _record(event: str, rule: AnsweringRule, *, by: Actor, at: datetime, **detail: Any) -> None:
    record(event, by=by, of=rule, team=rule.team_id, at=at, version=rule.version, **detail)
