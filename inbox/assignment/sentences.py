"""Writes an assignment rule as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from accounts.models import Agent, Membership, Team
from wake.assignment.assigned import in_minutes, in_words
from wake.models import Delivery, RuleVersion
from wake.models.rules import EscalationStep, Match

TYPES: dict[str, str] = {
    Delivery.Type.QUESTION: "questions",
    Delivery.Type.ALERT: "alerts",
    Delivery.Type.OUTPUT: "outputs",
    Delivery.Type.UPDATE: "updates",
}
ROLES = {Membership.Role.OWNER: "all owners", Membership.Role.REVIEWER: "all reviewers"}
NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five"}
LEFT = "a person who can no longer answer"


@dataclass(frozen=True, slots=True)
class Names:
    """Holds the names for the rules of a team, by their ids: its agents, and the people who may
    answer."""

    agents: Mapping[str, str]
    people: Mapping[int, str]
    roles: Mapping[int, str]

    @classmethod
    def of(cls, team: Team) -> Self:
        """Returns the names of a team, with two queries."""
        agents = Agent.objects.filter(team=team).order_by("agent_id")
        able = Membership.objects.that_answer().filter(team=team)
        members = able.order_by("user__display_name", "pk")
        rows = list(members.values_list("user", "user__display_name", "role"))
        return cls(
            agents={str(pk): agent_id for pk, agent_id in agents.values_list("pk", "agent_id")},
            people={pk: name for pk, name, _ in rows},
            roles={pk: role for pk, _, role in rows},
        )

    def assigned(self, version: RuleVersion) -> str:
        """Returns the names of the people whom the rule would assign now. If there are none,
        returns `all owners and reviewers`."""
        names = [
            name
            for pk, name in self.people.items()
            if pk in version.people or self.roles[pk] == version.role
        ]
        return in_words(names) or "all owners and reviewers"


def matches(version: Match, names: Names) -> str:
    """Returns `Questions and alerts from research-agent-01 where /total is at least 500`."""
    types = in_words([TYPES[each] for each in version.types]) or "all deliveries"
    parts = [types.capitalize()]
    if version.agents:
        agents = in_words([names.agents.get(pk, "a removed agent") for pk in version.agents])
        parts.append(f"from {agents}")
    if version.thread_prefix:
        parts.append(f"in threads that begin with “{version.thread_prefix}”")
    if version.operator:
        place = version.pointer or "the whole text"
        parts.append(f"where {place} {version.get_operator_display()} “{version.value}”")
    return " ".join(parts)


def assigns(version: RuleVersion, names: Names) -> str:
    """Returns `go to Alice and all owners. Only they can answer.`"""
    only_they = " Only they can answer." if version.only_they else ""
    waits = " If no one answers, the agent waits." if version.must_wait else ""
    whom = _whom(version.people, version.role, names)
    signed = " Approving needs a passkey." if version.needs_signature else ""
    return f"go to {whom}.{only_they}{_needs(version)}{waits}{signed}{_ends(version)}"


def _needs(version: RuleVersion) -> str:
    if version.needed == 1:
        return ""
    people = "of them" if version.only_they else "people"
    return f" {NUMBERS[version.needed]} {people} must agree."


def _ends(version: RuleVersion) -> str:
    if version.claim_within_seconds is None:
        return ""
    return f" An approval has to be used within {in_minutes(version.claim_within_seconds // 60)}."


def escalates(version: RuleVersion, names: Names) -> str:
    """Returns a sentence for each step, such as `After 30 minutes without an answer, Bob is
    added.`"""
    return " ".join(_escalates(step, names) for step in version.escalation)


def _escalates(step: EscalationStep, names: Names) -> str:
    added = _named(step["people"], step["role"], names)
    are = "is" if len(added) == 1 and not step["role"] else "are"
    time = in_minutes(step["minutes"])
    return f"After {time} without an answer, {in_words(added)} {are} added."


def _whom(people: Iterable[int], role: str, names: Names) -> str:
    return in_words(_named(people, role, names))


def _named(people: Iterable[int], role: str, names: Names) -> list[str]:
    """Returns the names of the people, then `all owners` or `all reviewers` for the role."""
    named = [names.people.get(pk, LEFT) for pk in people]
    return [*_once(named), *([ROLES[Membership.Role(role)]] if role else [])]


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
