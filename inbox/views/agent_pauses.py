"""Owners pause the deliveries of an agent, and let them go on."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts import agents
from inbox.views.owners import owned_agent
from inbox.views.page import PersonRequest, SeeOther, actor, page


@require_POST
@page
def pause(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    agents.pause(agent, by=actor(request), at=timezone.now())
    messages.success(request, f"{agent} is paused. It can still read answers.")
    return SeeOther("agent", pk=pk)


@require_POST
@page
def resume(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    agents.resume(agent, by=actor(request))
    messages.success(request, f"{agent} may deliver again.")
    return SeeOther("agent", pk=pk)
