"""Finds the objects that only owners of a team may change. Checks the owner again when a change is
stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.shortcuts import get_object_or_404

from accounts.access import members
from accounts.access.objects import agents_of, is_owner, teams_of
from accounts.access.requests import PersonRequest, actor
from accounts.models import Agent, Team

AGENTS_REFUSED = "Only team owners can manage agents and their keys"


def team_of_an_owner(request: PersonRequest, slug: str, *, refusal: str) -> Team:
    """Returns the team. Raises Http404 for a team that the person is not in, as if the team did not
    exist."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    owners_only(request, team.pk, refusal=refusal)
    return team


def owned_agent(request: PersonRequest, pk: UUID) -> Agent:
    """Returns the agent. Raises Http404 for an agent of a team that the person is not in, as if the
    agent did not exist."""
    agent = get_object_or_404(agents_of(request.user).select_related("team"), pk=pk)
    owners_only(request, agent.team_id, refusal=AGENTS_REFUSED)
    return agent


def owners_only(request: PersonRequest, team_id: int, *, refusal: str) -> None:
    """Raises PermissionDenied with the sentence `refusal`, unless the person owns the team."""
    if not is_owner(request.user, team_id):
        raise PermissionDenied(refusal)


@contextmanager
def still_owned(request: PersonRequest, team_id: int) -> Iterator[None]:
    """Opens a transaction that locks the team and checks again that the person owns it. Another
    owner may have removed this person since the page was opened. Raises NoLongerOwner, which is
    answered with 403."""
    with transaction.atomic():
        members.hold_as_owner(team_id, by=actor(request))
        yield
