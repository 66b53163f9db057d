"""Gives people the teams and roles of their groups at the provider, at each sign-in.

Only memberships that came from groups are changed and removed. A membership that an owner gave
stays, and a team keeps its last owner.
"""

from __future__ import annotations

import logging

from accounts.access import members
from accounts.audit import record
from accounts.models import Membership, Team, User
from accounts.models.moves import closed_teams
from accounts.sign_in.oidc.provider import Provider

log = logging.getLogger(__name__)

RANKS = ("reader", "reviewer", "owner")


def apply(
    user: User, groups: frozenset[str], provider: Provider, *, is_complete: bool = True
) -> None:
    """Adds, changes and removes memberships, except in teams that move to another server. The
    caller has locked the person's row. If the groups are not complete, memberships are only added,
    because another group may have given the others."""
    wanted = _roles(groups, provider)
    named = Team.objects.filter(slug__in=wanted)
    given = Team.objects.filter(memberships__user=user, memberships__from_groups=True)
    teams = (named | given).exclude(pk__in=closed_teams())
    for team in teams.distinct().order_by("pk"):
        members.hold(team.pk)
        membership = Membership.objects.filter(team=team, user=user).first()
        role = wanted.get(team.slug)
        if membership is None and role is not None:
            _add(user, team, role, provider)
        elif membership is not None and membership.from_groups and is_complete:
            _settle(membership, role, provider)
    if missing := wanted.keys() - set(named.values_list("slug", flat=True)):
        log.warning("WAKE_OIDC_GROUPS names teams that do not exist: %s", sorted(missing))


def _roles(groups: frozenset[str], provider: Provider) -> dict[str, str]:
    """Returns the highest role that the groups give, by the team's slug."""
    wanted: dict[str, str] = {}
    for group, slug, role in provider.groups:
        if group in groups and RANKS.index(role) >= RANKS.index(wanted.get(slug, RANKS[0])):
            wanted[slug] = role
    return wanted


def _add(user: User, team: Team, role: str, provider: Provider) -> None:
    membership = Membership.objects.create(team=team, user=user, role=role, from_groups=True)
    record(
        "membership.added", by=provider.actor, of=membership, team=team, role=role, person=user.pk
    )


def _settle(membership: Membership, role: str | None, provider: Provider) -> None:
    try:
        if role is None:
            members.remove(membership, by=provider.actor)
        else:
            members.change_role(membership, role, by=provider.actor)
    except members.LastOwner:
        log.warning("%s stays: the team has no other owner", membership)
