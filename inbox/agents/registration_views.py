"""Registers an agent and shows its signing secret once."""

from __future__ import annotations

from http import HTTPStatus

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import render

from accounts.access import team_filter
from accounts.access.objects import teams_owned_by
from accounts.access.owners import AGENTS_REFUSED, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.agents import registration
from accounts.models import Agent
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from inbox.agents.credentials.show_once import no_longer_visible, shown_once
from inbox.agents.forms import NewAgentForm
from pages.page import form_page, page
from pages.settings import posted


@form_page
@page
@requires_password
def register_agent(request: PersonRequest) -> HttpResponse:
    """Shows and processes the form. A form that is sent twice registers only one agent."""
    teams = teams_owned_by(request.user)
    if not teams:
        raise PermissionDenied(AGENTS_REFUSED)
    form = NewAgentForm(posted(request), teams=teams, slug=team_filter.slug_of(request.GET))
    if not form.is_valid():
        return _form(request, form)
    agent, by = Agent(**form.cleaned_data), actor(request)
    try:
        with still_owned(request, agent.team_id):
            agent.clean()
            secret = registration.register(agent, by=by)
    except ValidationError as reason:
        form.add_error(None, reason)
        return _form(request, form)
    except registration.AgentIdTaken as reason:
        if registered := registration.registered_just_now(agent, at=database_now()):
            return no_longer_visible(request, registered, is_new_agent=True)
        form.add_error("agent_id", str(reason))
        return _form(request, form)
    return shown_once(request, agent, "secret", secret, is_new_agent=True)


def _form(request: PersonRequest, form: NewAgentForm) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    context = {"nav": "agents", "form": form}
    return render(request, "inbox/agents/new.html", context, status=status)
