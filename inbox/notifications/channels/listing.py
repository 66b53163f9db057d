"""Describes channels for the pages: which events each sends, and whether it works."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from accounts.access.objects import agents_of, teams_of
from accounts.models import Agent, Membership, Team, User
from database.encryption import Unreadable
from inbox.models import Channel, Event
from inbox.notifications.channels.kinds.kind import Kind
from inbox.notifications.channels.kinds.registry import KINDS, kinds_for
from wake.callbacks.allowlist import Refused

SHORT = {
    Event.QUESTION: "questions",
    Event.ALERT: "alerts",
    Event.CLOSING: "deadlines that are close",
    Event.ASSUMED: "agents that carried on",
    Event.ASSIGNED: "assigned to me",
    Event.MENTION: "mentions",
    Event.DIGEST: "the digest",
}


@dataclass(frozen=True, slots=True)
class Line:
    """Shows one channel."""

    channel: Channel

    @property
    def kind(self) -> str:
        kind = KINDS.get(self.channel.kind)
        return kind.title if kind else self.channel.kind

    @property
    def address(self) -> str:
        """Returns what may be shown of the address: enough to tell two of them apart."""
        try:
            return KINDS[self.channel.kind].mask(self.channel.address)
        except (KeyError, Refused, Unreadable):
            return "an address that cannot be shown"

    @property
    def tells(self) -> str:
        """Returns `Questions, alerts`; empty if nothing is chosen."""
        words = ", ".join(SHORT[event] for event in SHORT if event in self.channel.rule.events)
        agents = len(self.channel.rule.agents)
        of_agents = f", of {agents} agent{'s' if agents > 1 else ''}" if words and agents else ""
        only = (
            ", only deliveries assigned to me" if words and self.channel.rule.only_assigned else ""
        )
        return f"{words[:1].upper()}{words[1:]}{of_agents}{only}"

    @property
    def chip(self) -> str:
        channel = self.channel
        if channel.verified_at is None:
            return "Not verified"
        if channel.suspended_at is not None:
            return "Suspended"
        return "Failing" if channel.failing_since is not None else ""


@dataclass(frozen=True, slots=True)
class Group:
    """Shows the channels of a person, or of a team of theirs, and which kinds they can add."""

    lines: list[Line]
    kinds: list[Kind]
    team: Team | None = None

    @property
    def can_change(self) -> bool:
        return bool(self.kinds)


def groups_of(user: User) -> tuple[Group, list[Group]]:
    """Returns the person's own channels, and those of each of their teams; three queries."""
    rows = Channel.objects.filter(user=user).select_related("rule").order_by("created_at", "pk")
    of_teams = Channel.objects.filter(team__in=teams_of(user)).select_related("rule")
    by_team: dict[int | None, list[Line]] = {}
    for channel in of_teams.order_by("created_at", "pk"):
        by_team.setdefault(channel.team_id, []).append(Line(channel))
    memberships = Membership.objects.filter(user=user).select_related("team")
    kinds = kinds_for(team=True)
    teams = [
        Group(
            by_team.get(each.team_id, []),
            kinds if each.role == Membership.Role.OWNER else [],
            each.team,
        )
        for each in memberships.order_by("team__name", "team_id")
    ]
    return Group(_lines(rows), kinds_for(team=False)), teams


def _lines(rows: Iterable[Channel]) -> list[Line]:
    return [Line(channel) for channel in rows]


def failing_for(user: User) -> list[Channel]:
    """Returns what fails of the channels that they can repair: their own, and those of teams that
    they own."""
    owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER).values("team")
    rows = Channel.objects.filter(user=user) | Channel.objects.filter(team__in=owned)
    return list(rows.filter(failing_since__isnull=False).order_by("created_at", "pk"))


def agents_for(channel: Channel, user: User) -> list[Agent]:
    """Returns the agents that this person can choose for the channel, with their teams, by id.
    Archived ones are among them if the channel is limited to them."""
    is_offered = Q(archived_at__isnull=True) | Q(pk__in=channel.rule.agents)
    rows = agents_of(user).filter(is_offered).select_related("team").order_by("agent_id", "pk")
    return list(rows.filter(team=channel.team_id) if channel.team_id else rows)
