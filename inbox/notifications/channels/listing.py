"""Describes channels for the pages: which events each channel sends, and whether the channel
works."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from accounts.access.objects import agents_of, teams_of
from accounts.models import Agent, Membership, Team, User
from database.encryption import Unreadable
from inbox.models import Channel, ChannelEvent
from inbox.notifications.channels.kinds.kind import ChannelKind
from inbox.notifications.channels.kinds.registry import KINDS, kinds_for
from wake.callbacks.allowlist import AddressRefused

SHORT = {
    ChannelEvent.QUESTION: "questions",
    ChannelEvent.ALERT: "alerts",
    ChannelEvent.CLOSING: "deadlines that are close",
    ChannelEvent.ASSUMED: "agents that carried on",
    ChannelEvent.FAILED: "failures after approval",
    ChannelEvent.ASSIGNED: "assigned to me",
    ChannelEvent.MENTION: "mentions",
    ChannelEvent.DIGEST: "the digest",
}


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """Shows one channel in the list of the settings."""

    channel: Channel

    @property
    def kind(self) -> str:
        kind = KINDS.get(self.channel.kind)
        return kind.title if kind else self.channel.kind

    @property
    def address(self) -> str:
        """Returns the visible part of the address, which is enough to tell two channels apart."""
        try:
            return KINDS[self.channel.kind].mask(self.channel.address)
        except (KeyError, AddressRefused, Unreadable):
            return "an address that cannot be shown"

    @property
    def events(self) -> str:
        """Returns `Questions, alerts`, or an empty text if no events are chosen."""
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
class ChannelGroup:
    """Shows the channels of a person, or of one of their teams, and which kinds they can add."""

    lines: list[ChannelLine]
    kinds: list[ChannelKind]
    team: Team | None = None

    @property
    def can_change(self) -> bool:
        return bool(self.kinds)


def groups_of(user: User) -> tuple[ChannelGroup, list[ChannelGroup]]:
    """Returns the person's own channels, and the channels of each of their teams. Makes three
    queries."""
    rows = Channel.objects.filter(user=user).select_related("rule").order_by("created_at", "pk")
    of_teams = Channel.objects.filter(team__in=teams_of(user)).select_related("rule")
    by_team: dict[int | None, list[ChannelLine]] = {}
    for channel in of_teams.order_by("created_at", "pk"):
        by_team.setdefault(channel.team_id, []).append(ChannelLine(channel))
    memberships = Membership.objects.filter(user=user).select_related("team")
    kinds = kinds_for(team=True)
    teams = [
        ChannelGroup(
            by_team.get(each.team_id, []),
            kinds if each.role == Membership.Role.OWNER else [],
            each.team,
        )
        for each in memberships.order_by("team__name", "team_id")
    ]
    return ChannelGroup(_lines(rows), kinds_for(team=False)), teams


def _lines(rows: Iterable[Channel]) -> list[ChannelLine]:
    return [ChannelLine(channel) for channel in rows]


def failing_for(user: User) -> list[Channel]:
    """Returns the failing channels that the person can repair: their own, and the channels of teams
    that they own."""
    owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER).values("team")
    rows = Channel.objects.filter(user=user) | Channel.objects.filter(team__in=owned)
    return list(rows.filter(failing_since__isnull=False).order_by("created_at", "pk"))


def agents_for(channel: Channel, user: User) -> list[Agent]:
    """Returns the agents that this person can choose for the channel, with their teams, by id.
    Archived agents are included if the channel is limited to them."""
    is_offered = Q(archived_at__isnull=True) | Q(pk__in=channel.rule.agents)
    rows = agents_of(user).filter(is_offered).select_related("team").order_by("agent_id", "pk")
    return list(rows.filter(team=channel.team_id) if channel.team_id else rows)
