"""Shows the first run, how to connect an agent, and whether a delivery has arrived."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access.objects import agents_of
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.agents import quota
from accounts.models import ApiKey
from database.clock import database_now
from inbox.agents.connect import welcome
from inbox.agents.connect.snippets import chosen_snippet, snippets
from pages.page import page
from pages.panels import panels


@require_safe
@page
def welcome_page(request: PersonRequest) -> HttpResponse:
    viewer = Viewer.of(request.user)
    context = {
        "nav": "inbox",
        "viewer": viewer,
        "first_run": welcome.first_run(viewer, at=database_now()),
        "has_delivered": welcome.has_delivered(viewer),
    }
    return render(request, "inbox/agents/connect/welcome.html", context)


@require_safe
@page
def connect_agent(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = database_now()
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    viewer = Viewer.of(request.user)
    all_snippets = snippets(agent)
    context = {
        "nav": "agents",
        "now": now,
        "agent": agent,
        "team": viewer.team_label(agent.team_id),
        "is_owner": viewer.is_owner(agent.team_id),
        "has_key": agent.keys.without_grants().usable(now).exists(),
        "origin": settings.WAKE_ORIGIN,
        "snippets": all_snippets,
        "chosen": chosen_snippet(all_snippets, request.GET.get("with", "")),
        "has_documentation": settings.WAKE_DOCUMENTATION.is_dir(),
        "last_request_at": welcome.last_request_at(agent),
        "delivery": welcome.first_delivery(agent),
        "panels": panels("connect", agent, user=request.user, at=now),
        "quota": quota.quota_of(ApiKey.Mode.TEST, agent.hourly_limit),
    }
    return render(request, "inbox/agents/connect/connect.html", context)


@require_safe
@page
def connect_updates(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Returns 204 until the agent's first request arrives, then says that the agent is connected.
    From the first delivery on, links to it."""
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    context = {
        "last_request_at": welcome.last_request_at(agent),
        "delivery": welcome.first_delivery(agent),
        "now": database_now(),
    }
    if not any((context["last_request_at"], context["delivery"])):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "inbox/agents/connect/_connected.html", context)
