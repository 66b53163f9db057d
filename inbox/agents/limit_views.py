"""Lets owners limit how much one agent delivers in an hour."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render

from accounts.access.owners import owned_agent, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.agents import hourly_limits, quota
from accounts.models import Agent, ApiKey
from database.clock import database_now
from inbox.agents.forms import LimitForm
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted


@form_page
@page
def agent_limit(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = owned_agent(request, pk)
    form = LimitForm(posted(request), initial={"hourly_limit": agent.hourly_limit})
    if not form.is_valid():
        return _form(request, agent, form)
    hourly = form.cleaned_data["hourly_limit"]
    try:
        with still_owned(request, agent.team_id):
            hourly_limits.set_limit(agent, hourly, by=actor(request), at=database_now())
    except ValidationError as reason:
        form.add_error("hourly_limit", reason)
        return _form(request, agent, form)
    messages.success(request, f"{agent} {_in_words(hourly)}.")
    return SeeOther("agent", pk=pk)


def _form(request: PersonRequest, agent: Agent, form: LimitForm) -> HttpResponse:
    context = {
        "nav": "agents",
        "now": database_now(),
        "agent": agent,
        "quota": {mode: quota.quota_of(mode) for mode in ApiKey.Mode.values},
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agents/limit.html", context, status=status)


def _in_words(hourly: int | None) -> str:
    if hourly is None:
        return "now has the default rate limit"
    times = f"{hourly} time{'' if hourly == 1 else 's'}"
    return f"may deliver {times} an hour from each of its keys and clients"
