"""Decides what a person may see and do. Every page finds its objects through these functions."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import Agent, Membership, Team, User
from accounts.models.agents import AgentQuerySet


class NotAllowed(Exception):
    """Your role in this team does not allow this."""


def teams_of(user: User | AnonymousUser) -> QuerySet[Team]:
    """Returns the teams that the person belongs to. A superuser, too, sees only the teams that they
    belong to."""
    return Team.objects.filter(memberships__user_id=user.pk or 0)


def teams_owned_by(user: User) -> QuerySet[Team]:
    """Returns the teams that the person owns, ordered by name."""
    owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER)
    return Team.objects.filter(pk__in=owned.values("team")).order_by("name", "pk")


def agents_of(user: User | AnonymousUser) -> AgentQuerySet:
    """Returns the agents of the teams that the person belongs to."""
    return Agent.objects.filter(team__memberships__user_id=user.pk or 0)


def teams_answered_by(user: User) -> QuerySet[Membership, Any]:
    """Returns the ids of the teams in which the person may answer, as a subquery."""
    return Membership.objects.that_answer().filter(user=user).values("team")


def may_answer(user: User, team_id: int) -> bool:
    return Membership.objects.that_answer().filter(user=user, team_id=team_id).exists()


def is_owner(user: User, team_id: int) -> bool:
    return Membership.objects.filter(
        user=user, team_id=team_id, role=Membership.Role.OWNER
    ).exists()
