"""What every page has in common on which owners look after an agent."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from accounts.access import agents_of, is_owner
from accounts.models import Agent
from inbox.views.page import PersonRequest

OWNERS_ONLY = "Only owners of the team register its agents and look after their keys"


def owned_agent(request: PersonRequest, pk: UUID) -> Agent:
    """Not theirs and not there are the same 404; who is no owner of its team is refused."""
    agent = get_object_or_404(agents_of(request.user).select_related("team"), pk=pk)
    if not is_owner(request.user, agent.team_id):
        raise PermissionDenied(OWNERS_ONLY)
    return agent
