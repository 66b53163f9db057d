"""Owners let one agent deliver less in an hour than the server gives."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts import limits, quota
from accounts.models import Agent, ApiKey
from inbox.forms_agents import LimitForm
from inbox.views.owners import owned_agent
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.settings import posted


@form_page
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    form = LimitForm(posted(request), initial={"hourly_limit": agent.hourly_limit})
    if not form.is_valid():
        return _form(request, agent, form)
    hourly = form.cleaned_data["hourly_limit"]
    try:
        limits.limit(agent, hourly, by=actor(request), at=timezone.now())
    except ValidationError as reason:
        form.add_error("hourly_limit", reason)
        return _form(request, agent, form)
    messages.success(request, f"{agent} {_in_words(hourly)}.")
    return SeeOther("agent", pk=pk)


def _form(request: PersonRequest, agent: Agent, form: LimitForm) -> HttpResponse:
    context = {
        "here": "agents",
        "now": timezone.now(),
        "agent": agent,
        "quota": {lane: quota.given(lane) for lane in ApiKey.Lane.values},
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agent_limit.html", context, status=status)


def _in_words(hourly: int | None) -> str:
    if hourly is None:
        return "may deliver as much as the server gives"
    return f"may deliver {hourly} time{'' if hourly == 1 else 's'} an hour from each of its keys"
