"""Loads a person's teams with their members and invitations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from django.db.models import Exists, OuterRef

from accounts.access.objects import teams_of
from accounts.models import Invitation, Membership, Passkey, Team, User
from accounts.sign_in.two_step import second_factor


@dataclass(slots=True)
class OwnTeam:
    """Describes a team of the viewer. `mine` is the viewer's membership, and `is_owner` says
    whether the viewer owns the team."""

    team: Team
    mine: Membership
    is_owner: bool
    people: list[Membership]
    invitations: list[Invitation] = field(default_factory=list)

    @property
    def without_second_factor(self) -> int:
        """Counts the members who sign in with only a password."""
        return sum(
            not membership.has_second_step  # type: ignore[attr-defined]  # own_teams() adds it
            for membership in self.people
        )

    @property
    def has_owner(self) -> bool:
        """Returns whether an owner can sign in. The last owner may have been deactivated."""
        return any(
            each.role == Membership.Role.OWNER and each.user.is_active for each in self.people
        )

    @property
    def who_answer(self) -> list[Membership]:
        roles = {Membership.Role.OWNER, Membership.Role.REVIEWER}
        return [each for each in self.people if each.role in roles and each.user.is_active]

    @property
    def with_passkey(self) -> int:
        """Counts the people who may answer and have a passkey."""
        return sum(
            each.has_passkey  # type: ignore[attr-defined]  # own_teams() adds it
            for each in self.who_answer
        )


def own_teams(user: User) -> list[OwnTeam]:
    """Returns the teams with their members by name, and who has a second factor or a passkey. Makes
    one query."""
    rows = Membership.objects.filter(team__in=teams_of(user)).select_related("team", "user")
    passkeys = Passkey.objects.filter(user=OuterRef("user"))
    ordered = (
        second_factor.with_second_step(rows)
        .annotate(has_passkey=Exists(passkeys))
        .order_by("team__name", "team_id", "user__display_name", "pk")
    )
    teams = []
    for team, members in groupby(ordered, lambda membership: membership.team):
        people: list[Membership] = list(members)
        mine = next(membership for membership in people if membership.user_id == user.pk)
        teams.append(OwnTeam(team, mine, mine.role == Membership.Role.OWNER, people))
    return teams


def people_of(team_ids: Sequence[int]) -> list[User]:
    """Returns the members of these teams, by name."""
    rows = User.objects.filter(memberships__team__in=team_ids).distinct()
    return list(rows.order_by("display_name", "pk"))


def own_teams_with_invitations(user: User, *, at: datetime) -> list[OwnTeam]:
    """Adds the open invitations of the teams that the person owns. Makes two queries."""
    teams = own_teams(user)
    owned = {own.team.pk: own for own in teams if own.is_owner}
    rows = Invitation.objects.open(at).filter(team__in=owned).select_related("invited_by")
    for invitation in rows.order_by("created_at"):
        owned[invitation.team_id].invitations.append(invitation)
    return teams
