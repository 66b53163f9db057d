"""Lets owners pause and resume an agent's deliveries."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from accounts.access.owners import owned_agent, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.agents import registration
from database.clock import database_now
from pages.page import page
from pages.redirects import SeeOther


@require_POST
@page
def pause_agent(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    with still_owned(request, agent.team_id):
        registration.pause(agent, by=actor(request), at=database_now())
    messages.success(request, f"{agent} is paused. It can still read your answers.")
    return SeeOther("agent", pk=pk)


@require_POST
@page
def resume_agent(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    try:
        with still_owned(request, agent.team_id):
            registration.resume(agent, by=actor(request))
    except registration.AgentArchived as reason:
        messages.warning(request, str(reason))
    else:
        messages.success(request, f"{agent} can deliver again.")
    return SeeOther("agent", pk=pk)
