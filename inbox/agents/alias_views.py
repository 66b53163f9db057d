"""Lets owners add and remove the other ids under which an orchestrator may deliver."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST

from accounts.access.owners import owned_agent, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.agents import aliases
from accounts.models import Agent
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from inbox.agents.forms import AliasForm
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted


@form_page
@page
@requires_password
def agent_aliases(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, form = owned_agent(request, pk), AliasForm(posted(request))
    if not form.is_valid():
        return _form(request, agent, form)
    try:
        with still_owned(request, agent.team_id):
            alias = aliases.grant(agent, form.cleaned_data["pattern"], by=actor(request))
    except ValidationError as reason:
        form.add_error("pattern", reason)
        return _form(request, agent, form)
    messages.success(request, f"{agent} can now deliver as {alias}.")
    return SeeOther("agent-aliases", pk=pk)


@require_POST
@page
def remove_alias(request: PersonRequest, pk: UUID, alias: int) -> HttpResponse:
    agent = owned_agent(request, pk)
    row = get_object_or_404(agent.claimed_ids, pk=alias)
    with still_owned(request, agent.team_id):
        aliases.withdraw(row, by=actor(request))
    messages.success(request, f"{agent} can no longer deliver as {row}.")
    return SeeOther("agent-aliases", pk=pk)


def _form(request: PersonRequest, agent: Agent, form: AliasForm) -> HttpResponse:
    context = {
        "nav": "agents",
        "now": database_now(),
        "agent": agent,
        "aliases": agent.claimed_ids.order_by("pattern"),
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agents/aliases.html", context, status=status)
