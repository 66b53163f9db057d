"""Finds the rule that a delivery matches, among the rules that this process keeps in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from accounts.models import Agent, Team
from database.compiled_queries import CompiledQuery, parameter
from wake.assignment.details import Details
from wake.models import Delivery, Rule, RuleVersion
from wake.models.rules import Match

MOST_TEAMS = 10_000


Version = TypeVar("Version", bound=Match)


class LiveRule(NamedTuple, Generic[Version]):
    """Holds what a rule asks for, as it is compared fastest."""

    version: Version
    agents: frozenset[UUID]
    types: frozenset[str]
    thread_prefix: str
    pointer: str
    operator: str
    value: str
    expires_at: datetime

    def matches(self, delivery: Delivery, details: Details, *, at: datetime) -> bool:
        _, agents, types, thread_prefix, pointer, operator, value, expires_at = self
        if types and delivery.type not in types:
            return False
        if agents and delivery.agent_id not in agents:
            return False
        if thread_prefix and not delivery.thread.startswith(thread_prefix):
            return False
        if expires_at <= at:
            return False
        return not operator or details.compare(pointer, operator, value)


class _Kept(NamedTuple):
    rules_version: int
    rules: Sequence[LiveRule[RuleVersion]]


_kept: dict[int, _Kept] = {}


def version_for(delivery: Delivery, agent: Agent, *, at: datetime) -> RuleVersion | None:
    """Returns what the first rule that matches says. Makes no query unless the team's rules have
    changed since this process read them; `agent.rules_version` says so."""
    if not agent.rules_version:
        return None
    kept = _kept.get(agent.team_id)
    if kept is None or kept.rules_version != agent.rules_version:
        kept = _read(agent.team_id, agent.rules_version)
    return first_match(kept.rules, delivery, at=at)


def first_match(
    rules: Iterable[LiveRule[RuleVersion]], delivery: Delivery, *, at: datetime
) -> RuleVersion | None:
    details = Details(delivery)
    for rule in rules:
        if rule.matches(delivery, details, at=at):
            return rule.version
    return None


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
    """Reads the rules after the version that the caller has: if they are newer already, the
    delivery is not stored with that version (wake/models/one_statement.py)."""
    kept = _Kept(rules_version, live_rules(_current().objects(team=team_id)))
    if len(_kept) >= MOST_TEAMS:
        _kept.clear()
    _kept[team_id] = kept
    return kept


@cache
def _current() -> CompiledQuery:
    return CompiledQuery(lambda: RuleVersion.objects.of_team(parameter("team", Team, "id")))
