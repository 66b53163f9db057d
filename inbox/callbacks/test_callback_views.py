"""Owners send a callback of an agent that carries no answer, and see what comes back."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.models import Agent
from accounts.throttles import TooMany, count_rehearsal
from inbox.forms_agents import RehearsalForm
from inbox.views.owners import owned_agent
from inbox.views.page import PersonRequest, actor, form_page, page, too_many
from inbox.views.settings import posted
from wake.rehearsals import rehearse


@form_page
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    """No redirect: what came back is kept nowhere."""
    agent, form = owned_agent(request, pk), RehearsalForm(posted(request))
    if not form.is_valid():
        return _page(request, agent, form)
    try:
        count_rehearsal(request)
    except TooMany as error:
        waits = _page(request, agent, form, wait=error.retry_after)
        return too_many(waits, error.retry_after)
    url = form.cleaned_data["url"]
    outcome = rehearse(agent, url, by=actor(request), at=timezone.now())
    return _page(request, agent, form, outcome=outcome)


def _page(
    request: PersonRequest, agent: Agent, form: RehearsalForm, **context: Any
) -> HttpResponse:
    context = {"here": "agents", "agent": agent, "form": form, **context}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agent_rehearsal.html", context, status=status)
