"""Finds the rule that a delivery matches, among the rules that this process has in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from accounts.models import Agent, Team
from database.compiled_queries import CompiledQuery, parameter
from wake.assignment.details import Details
from wake.models import Delivery, Rule, RuleVersion
from wake.models.rules import Match

MAX_TEAMS = 10_000


Version = TypeVar("Version", bound=Match)


class LiveRule(NamedTuple, Generic[Version]):
    """Holds the conditions of a rule, in the form that compares fastest."""

    version: Version
    agents: frozenset[UUID]
    types: frozenset[str]
    thread_prefix: str
    pointer: str
    operator: str
    value: str
    expires_at: datetime

    def is_for(self, agent_id: UUID, type: str) -> bool:
        """Returns whether the rule may match deliveries of this agent and type."""
        return (not self.types or type in self.types) and (
            not self.agents or agent_id in self.agents
        )

    def matches(self, delivery: Delivery, details: Details, *, at: datetime) -> bool:
        if not self.is_for(delivery.agent_id, delivery.type) or self.expires_at <= at:
            return False
        if self.thread_prefix and not delivery.thread.startswith(self.thread_prefix):
            return False
        return not self.operator or details.compare(self.pointer, self.operator, self.value)


# Rules stay in their order. Consecutive rules that compare a value at the same pointer form a run;
# None means that they compare no value.
Runs = Sequence[tuple[str | None, Sequence[LiveRule[RuleVersion]]]]


class _Kept(NamedTuple):
    rules_version: int
    rules: Sequence[LiveRule[RuleVersion]]
    # Rules that may match deliveries of one agent and type. Filled as deliveries come.
    by_sender: dict[tuple[UUID, str], Runs]


_kept: dict[int, _Kept] = {}


def version_for(delivery: Delivery, agent: Agent, *, at: datetime) -> RuleVersion | None:
    """Returns the version of the first rule that matches. Makes no query unless the team's rules
    have changed since this process read them, which `agent.rules_version` shows."""
    if not agent.rules_version:
        return None
    kept = _kept.get(agent.team_id)
    if kept is None or kept.rules_version != agent.rules_version:
        kept = _read(agent.team_id, agent.rules_version)
    sender = delivery.agent_id, delivery.type
    if (runs := kept.by_sender.get(sender)) is None:
        runs = kept.by_sender[sender] = in_runs(r for r in kept.rules if r.is_for(*sender))
    return first_match(runs, delivery, at=at)


def first_match(runs: Runs, delivery: Delivery, *, at: datetime) -> RuleVersion | None:
    details = Details(delivery)
    for pointer, rules in runs:
        for rule in rules:
            # Most rules of a long list compare a value that this delivery does not have.
            if pointer in details.missing:
                break
            if rule.matches(delivery, details, at=at):
                return rule.version
    return None


def in_runs(rules: Iterable[LiveRule[RuleVersion]]) -> Runs:
    runs = groupby(rules, key=lambda rule: rule.pointer if rule.operator else None)
    return [(pointer, list(run)) for pointer, run in runs]


def live_rules(versions: Iterable[RuleVersion]) -> list[LiveRule[RuleVersion]]:
    """Returns the rules that are on."""
    return [live(version) for version in versions if version.rule.state == Rule.State.ON]


def live(version: Version) -> LiveRule[Version]:
    return LiveRule(
        version,
        frozenset(map(UUID, version.agents)),
        frozenset(version.types),
        version.thread_prefix,
        version.pointer,
        version.operator,
        version.value,
        version.expires_at,
    )


def _read(team_id: int, rules_version: int) -> _Kept:
    """Reads the rules after the caller has read their version. If the rules have changed in
    between, the delivery is not stored with that version (wake/models/delivering.py)."""
    kept = _Kept(rules_version, live_rules(_current().objects(team=team_id)), {})
    if len(_kept) >= MAX_TEAMS:
        _kept.clear()
    _kept[team_id] = kept
    return kept


@cache
def _current() -> CompiledQuery:
    return CompiledQuery(lambda: RuleVersion.objects.of_team(parameter("team", Team, "id")))
