"""Adds, changes, moves, switches and removes the assignment rules of a team.

Each verb locks the team, then its agents, and gives all of them the next version of the rules. A
delivery locks the row of its agent anyway, and this row shows whether the remembered rules are
still the present ones (docs/decisions/0044-rules-reach-a-delivery-with-its-key.md).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db import transaction

from accounts.access import members
from accounts.audit import Actor, record
from accounts.models import Agent, Membership, Team
from database.clock import microseconds
from wake.assignment.details import is_number, is_pointer
from wake.models import Delivery, Rule, RuleVersion
from wake.models.rules import EscalationStep

MAX_RULES = 50
LONGEST_DAYS = 90
MAX_STEPS = 3
MAX_NEEDED = 5
LONGEST_MINUTES = 7 * 24 * 60
ROLES = (Membership.Role.OWNER, Membership.Role.REVIEWER)
NUMERIC = {RuleVersion.Operator.AT_LEAST, RuleVersion.Operator.AT_MOST}


class RulesChanged(Exception):
    """The rules have changed since you opened this page. Look at them again."""


class TooManyRules(Exception):
    """A team can have 50 rules. Remove one first."""


class BadRule(Exception):
    """A rule cannot say this; the message says why."""


class MatchTerms(TypedDict):
    """Lists the deliveries that a rule is for, and until when."""

    agents: list[str]
    types: list[str]
    thread_prefix: str
    pointer: str
    operator: str
    value: str
    expires_at: datetime


class Terms(MatchTerms):
    """Lists the terms of a rule, which are the columns of a version."""

    people: list[int]
    role: str
    only_they: bool
    needed: int
    must_wait: bool
    needs_signature: bool
    claim_within_seconds: int | None
    escalation: list[EscalationStep]


@transaction.atomic
def add(
    team: Team, name: str, terms: Terms, *, rules_version: int, by: Actor, at: datetime
) -> Rule:
    """Adds a rule at the end of the list, and turns it on. `rules_version` is the version that the
    person saw. Raises RulesChanged, TooManyRules, BadRule or NoLongerOwner."""
    team = _locked(team.pk, rules_version=rules_version, by=by)
    rules = _rules(team)
    if len(rules) >= MAX_RULES:
        raise TooManyRules(TooManyRules.__doc__)
    _check(team, terms, at=at)
    rule = Rule.objects.create(
        team=team,
        position=rules[-1].position + 1 if rules else 1,
        name=name,
        state=Rule.State.ON,
        version=1,
    )
    RuleVersion.objects.create(rule=rule, number=1, created_at=at, created_by=by.name[:80], **terms)
    _record("rule.added", rule, by=by, at=at, **_detail(terms))
    _publish(team, at)
    return rule


@transaction.atomic
def change(
    rule: Rule, name: str, terms: Terms, *, rules_version: int, by: Actor, at: datetime
) -> Rule:
    """Adds a version to the rule. Deliveries that the rule assigned before stay assigned. Raises
    RulesChanged, BadRule or NoLongerOwner."""
    team, rule = _held(rule, rules_version=rules_version, by=by)
    _check(team, terms, at=at)
    before, rule.name = rule.name, name
    rule.version += 1
    rule.save(update_fields=["name", "version"])
    RuleVersion.objects.create(
        rule=rule, number=rule.version, created_at=at, created_by=by.name[:80], **terms
    )
    _record("rule.changed", rule, by=by, at=at, before=before, **_detail(terms))
    _publish(team, at)
    return rule


@transaction.atomic
def move(rule: Rule, *, up: bool, rules_version: int, by: Actor, at: datetime) -> None:
    """Swaps the rule with its neighbour above or below. At the end of the list nothing happens.
    Raises RulesChanged or NoLongerOwner."""
    team, rule = _held(rule, rules_version=rules_version, by=by)
    rules = _rules(team)
    place = [other.pk for other in rules].index(rule.pk)
    if not 0 <= (to := place - 1 if up else place + 1) < len(rules):
        return
    other = rules[to]
    rule.position, other.position = other.position, rule.position
    for each in (rule, other):
        each.save(update_fields=["position"])
    _record("rule.moved", rule, by=by, at=at, to=to + 1)
    _publish(team, at)


@transaction.atomic
def switch(rule: Rule, *, on: bool, rules_version: int, by: Actor, at: datetime) -> None:
    """Turns the rule on or off. Raises RulesChanged or NoLongerOwner."""
    team, rule = _held(rule, rules_version=rules_version, by=by)
    state = Rule.State.ON if on else Rule.State.OFF
    if rule.state == state:
        return
    rule.state = state
    rule.save(update_fields=["state"])
    _record("rule.turned_on" if on else "rule.turned_off", rule, by=by, at=at)
    _publish(team, at)


@transaction.atomic
def remove(rule: Rule, *, rules_version: int, by: Actor, at: datetime) -> None:
    """Takes the rule off the list. The rule and its versions stay for the deliveries that they
    assigned. Raises RulesChanged or NoLongerOwner."""
    team, rule = _held(rule, rules_version=rules_version, by=by)
    rule.removed_at = at
    rule.save(update_fields=["removed_at"])
    _record("rule.removed", rule, by=by, at=at)
    _publish(team, at)


def _locked(team_id: int, *, rules_version: int, by: Actor) -> Team:
    members.hold_as_owner(team_id, by=by)
    team = Team.objects.get(pk=team_id)
    if team.rules_version != rules_version:
        raise RulesChanged(RulesChanged.__doc__)
    return team


def _held(rule: Rule, *, rules_version: int, by: Actor) -> tuple[Team, Rule]:
    """Returns the locked team, and the rule in its present state. The rule is still on the list,
    because this version of the rules is the one that the person saw."""
    team = _locked(rule.team_id, rules_version=rules_version, by=by)
    return team, Rule.objects.get(pk=rule.pk)


def _rules(team: Team) -> list[Rule]:
    return list(Rule.objects.filter(team=team, removed_at__isnull=True).order_by("position"))


def _publish(team: Team, at: datetime) -> None:
    """Gives the rules a version that no process has ever seen, not even before a backup was
    restored. Agents are locked in the order of their keys. So each delivery of an agent is stored
    either before this change, or after its commit."""
    team.rules_version = max(team.rules_version + 1, microseconds(at))
    team.save(update_fields=["rules_version"])
    agents = Agent.objects.filter(team=team)
    list(agents.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    agents.update(rules_version=team.rules_version)


def check_match(team_id: int, terms: MatchTerms, *, at: datetime) -> None:
    """Checks the agents and types that a rule is for, and its end. Agents and the time may have
    changed since the page was made. Raises BadRule."""
    if not at < terms["expires_at"] <= at + timedelta(days=LONGEST_DAYS):
        raise BadRule(f"A rule ends within {LONGEST_DAYS} days.")
    if not set(terms["types"]) <= set(Delivery.Type.values):
        raise BadRule("Choose types of deliveries.")
    agents = Agent.objects.filter(team=team_id, pk__in=terms["agents"])
    if agents.count() != len(set(terms["agents"])):
        raise BadRule("Choose agents of this team.")
    _check_comparison(terms)


def _check(team: Team, terms: Terms, *, at: datetime) -> None:
    """Raises BadRule if the terms are wrong. People may have left since the page was made."""
    check_match(team.pk, terms, at=at)
    _check_people(team, terms["people"], terms["role"])
    if not 1 <= terms["needed"] <= MAX_NEEDED:
        raise BadRule(f"A rule asks for 1 to {MAX_NEEDED} people.")
    if terms["needs_signature"] and not terms["must_wait"]:
        raise BadRule("If an approval needs a passkey, the agent waits for it.")
    if not _is_limit(terms["claim_within_seconds"]):
        raise BadRule("The time to use an approval is a minute to 7 days.")
    _check_escalation(team, terms["escalation"])


def _is_limit(seconds: int | None) -> bool:
    return seconds is None or 60 <= seconds <= LONGEST_MINUTES * 60


def _check_escalation(team: Team, steps: list[EscalationStep]) -> None:
    if len(steps) > MAX_STEPS:
        raise BadRule(f"A rule has at most {MAX_STEPS} steps of escalation.")
    minutes = [step["minutes"] for step in steps]
    if minutes != sorted(set(minutes)) or not all(0 < each <= LONGEST_MINUTES for each in minutes):
        raise BadRule("Each step of escalation comes later than the one before, within 7 days.")
    for step in steps:
        _check_people(team, step["people"], step["role"])


def _check_people(team: Team, people: list[int], role: str) -> None:
    able = Membership.objects.that_answer().filter(team=team, user__in=people)
    if able.count() != len(set(people)):
        raise BadRule("Choose people who may answer in this team.")
    if role not in {"", *ROLES} or not (people or role):
        raise BadRule("Choose at least one person, or a role.")


def _check_comparison(terms: MatchTerms) -> None:
    if not terms["operator"]:
        return
    if terms["operator"] not in RuleVersion.Operator:
        raise BadRule("Choose how to compare the value.")
    if not is_pointer(terms["pointer"]):
        raise BadRule("A pointer is written like /order/total.")
    if terms["operator"] in NUMERIC and not is_number(terms["value"]):
        raise BadRule("Compare with a number.")


def _detail(terms: Terms) -> dict[str, Any]:
    """Returns the terms of the rule in the form that the audit stores."""
    return {**terms, "expires_at": terms["expires_at"].isoformat()}


def _record(event: str, rule: Rule, *, by: Actor, at: datetime, **detail: Any) -> None:
    record(event, by=by, of=rule, team=rule.team_id, at=at, version=rule.version, **detail)
