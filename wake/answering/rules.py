"""Adds, changes, switches and removes the rules of a team that answer.

A rule begins in shadow: it says what it would have approved, and approves nothing. A changed rule
begins in shadow again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import Team
from accounts.people import members
from wake.answering.results import results_of
from wake.assignment.rules import BadRule, MatchTerms, RulesChanged, check_match
from wake.models import AnsweringRule, AnsweringVersion, Delivery

MOST_RULES = 20
MOST_A_DAY = 500
MAX_DAYS_FOR_PEOPLE = 30
SHORTEST_REASON = 10
# An update needs no answer, and an alert is for a person.
TYPES = (Delivery.Type.QUESTION, Delivery.Type.OUTPUT)

State = AnsweringRule.State


class TooManyRules(Exception):
    """A team can have 20 answering rules. Remove one first."""


class NotTriedEnough(Exception):
    """Too little agreement yet. Give a reason (at least 10 characters) to turn it on anyway."""


class Terms(MatchTerms):
    """Lists what a rule says: the columns of a version."""

    most_a_day: int
    ask_people_days: int


@transaction.atomic
def add(team: Team, name: str, terms: Terms, *, by: Actor, at: datetime) -> AnsweringRule:
    """Adds a rule in shadow. Raises TooManyRules, BadRule or NoLongerOwner."""
    members.hold_as_owner(team.pk, by=by)
    if AnsweringRule.objects.filter(team=team, removed_at__isnull=True).count() >= MOST_RULES:
        raise TooManyRules(TooManyRules.__doc__)
    _check(team.pk, terms, at=at)
    rule = AnsweringRule.objects.create(
        team=team, name=name, state=State.SHADOW, version=1, created_at=at
    )
    _store(rule, terms, by=by, at=at)
    _record("answering_rule.added", rule, by=by, at=at, **_detail(terms))
    return rule


@transaction.atomic
def change(
    rule: AnsweringRule, name: str, terms: Terms, *, version: int, by: Actor, at: datetime
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
    """Lets the rule approve. A reason of at least ten characters is needed for a rule with fewer
    than 20 answers of people to compare with, or with more than one contradiction in a hundred.
    Raises RulesChanged, NotTriedEnough or NoLongerOwner."""
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
    """Ends its approvals, from the next one on, or lets it only say what it would approve
    (`shadow`). Raises RulesChanged or NoLongerOwner."""
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
    """Lets the rule approve again what people refused the like of, if it is on. `seen` is the time
    of the newest refusal that the owner saw; later ones still count. Raises RulesChanged or
    NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    rule.counts_refusals_after = min(seen, at)
    rule.save(update_fields=["counts_refusals_after"])
    _record("answering_rule.answers_again", rule, by=by, at=at, seen=seen.isoformat())


@transaction.atomic
def remove(rule: AnsweringRule, *, version: int, by: Actor, at: datetime) -> None:
    """Takes the rule off the list. It and its versions stay for the answers that it gave. Raises
    RulesChanged or NoLongerOwner."""
    rule = _held(rule, version=version, by=by)
    rule.removed_at, rule.state, rule.on_since = at, State.OFF, None
    rule.save(update_fields=["removed_at", "state", "on_since"])
    _record("answering_rule.removed", rule, by=by, at=at)


def _held(rule: AnsweringRule, *, version: int, by: Actor) -> AnsweringRule:
    """Locks the team and then the rule, for which an approval waits."""
    members.hold_as_owner(rule.team_id, by=by)
    held = AnsweringRule.objects.select_for_update().get(pk=rule.pk)
    if held.removed_at is not None or held.version != version:
        raise RulesChanged(RulesChanged.__doc__)
    return held


def _check(team_id: int, terms: Terms, *, at: datetime) -> None:
    check_match(team_id, terms, at=at)
    if not terms["types"] or not set(terms["types"]) <= set(TYPES):
        raise BadRule("Choose questions, outputs, or both.")
    if not 1 <= terms["most_a_day"] <= MOST_A_DAY:
        raise BadRule(f"A rule approves 1 to {MOST_A_DAY} deliveries a day.")
    if not 1 <= terms["ask_people_days"] <= MAX_DAYS_FOR_PEOPLE:
        raise BadRule(f"Ask people for 1 to {MAX_DAYS_FOR_PEOPLE} days.")


def _store(rule: AnsweringRule, terms: Terms, *, by: Actor, at: datetime) -> None:
    AnsweringVersion.objects.create(
        rule=rule, number=rule.version, created_at=at, created_by=by.name[:80], **terms
    )


def _detail(terms: Terms) -> dict[str, Any]:
    return {**terms, "expires_at": terms["expires_at"].isoformat()}


def _record(event: str, rule: AnsweringRule, *, by: Actor, at: datetime, **detail: Any) -> None:
    record(event, by=by, of=rule, team=rule.team_id, at=at, version=rule.version, **detail)
