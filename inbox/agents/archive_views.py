"""Lets owners archive an agent that is no longer used, and restore it."""

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
def archive_agent(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    with still_owned(request, agent.team_id):
        registration.archive(agent, by=actor(request), at=database_now())
    messages.success(request, f"{agent} is archived. You can restore it under Archived agents.")
    return SeeOther("agents")


@require_POST
@page
def restore_agent(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    with still_owned(request, agent.team_id):
        registration.restore(agent, by=actor(request))
    messages.success(request, f"{agent} is back on the list.")
    return SeeOther("agent", pk=pk)
