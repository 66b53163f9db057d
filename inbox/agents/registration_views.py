"""Registers an agent for a team of its owner, and shows its signing secret once."""

from __future__ import annotations

from http import HTTPStatus

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts import agents, members
from accounts.access import teams_owned_by
from accounts.models import Agent
from inbox import switch
from inbox.forms_agents import NewAgentForm
from inbox.views.agent_once import no_longer_visible, shown_once
from inbox.views.owners import OWNERS_ONLY
from inbox.views.page import PersonRequest, actor, form_page, page
from inbox.views.password_again import password_again
from inbox.views.settings import posted


@form_page
@page
@password_again
def new(request: PersonRequest) -> HttpResponse:
    """Sent again, the form makes nothing, because the agent is there."""
    teams = teams_owned_by(request.user)
    if not teams:
        raise PermissionDenied(OWNERS_ONLY)
    form = NewAgentForm(posted(request), teams=teams, slug=switch.slug_of(request.GET))
    if not form.is_valid():
        return _form(request, form)
    agent, by = Agent(**form.cleaned_data), actor(request)
    try:
        with transaction.atomic():
            members.hold_as_owner(agent.team_id, by=by)
            secret = agents.register(agent, by=by)
    except agents.AgentIdTaken as reason:
        if made := agents.registered_just_now(agent, at=timezone.now()):
            return no_longer_visible(request, made, is_new_agent=True)
        form.add_error("agent_id", str(reason))
        return _form(request, form)
    return shown_once(request, agent, "secret", secret, is_new_agent=True)


def _form(request: PersonRequest, form: NewAgentForm) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    context = {"here": "agents", "form": form}
    return render(request, "inbox/agent_new.html", context, status=status)
