"""Asks a person whether a terminal may have a key of one of their team's agents (RFC 8628, 3.3)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render

from accounts.access.requests import PersonRequest, actor
from accounts.agents import keys, registration
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import Agent, DeviceSignIn
from accounts.oauth.agent_choice import (
    AgentChoiceForm,
    NoLongerAllowed,
    as_agent_id,
    proposal_for,
)
from accounts.oauth.device import terminals
from accounts.oauth.device.codes import shown
from accounts.oauth.limits import count_typed_code
from accounts.oauth.policies import teams_that_allow
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.page import form_page, page, posted_text, too_many
from pages.redirects import SeeOther
from pages.settings import posted

TERMINAL = "a terminal"


@form_page
@page
@requires_password
def connect_terminal(request: PersonRequest) -> HttpResponse:
    """Asks for a code, and then for a decision about the terminal that shows it. A link brings the
    code along, and decides nothing."""
    typed = posted_text(request, "code") or request.GET.get("code", "")
    if not typed:
        return _ask_for_code(request)
    try:
        count_typed_code(request)
    except TooManyRequests as error:
        return too_many(_ask_for_code(request, wait=error.retry_after), error.retry_after)
    sign_in = terminals.find(typed, at=database_now())
    if sign_in is None:
        return _ask_for_code(request, typed=typed, is_wrong=True)
    try:
        if request.POST.get("decision") == "refuse":
            return _refuse(request, sign_in)
        return _decide(request, sign_in)
    except terminals.CodeNotOpen:
        return _ask_for_code(request, typed=typed, is_wrong=True)


def _decide(request: PersonRequest, sign_in: DeviceSignIn) -> HttpResponse:
    teams = list(teams_that_allow(request.user, host=None))
    form = AgentChoiceForm(posted(request), teams=teams, proposal=_proposal(request, sign_in))
    if form.is_valid():
        try:
            return _connect(request, sign_in, form)
        except (ValidationError, registration.AgentIdTaken) as problem:
            form.explain(problem)
        except (keys.TooManyKeys, NoLongerAllowed) as problem:
            form.add_error(None, str(problem))
    context = {
        "sign_in": sign_in,
        "code": shown(sign_in.device_grant.user_code),
        "form": form,
        "teams": teams,
        "own_address": client_address(request),
        "now": database_now(),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "accounts/oauth/device/decision.html", context, status=status)


def _connect(request: PersonRequest, sign_in: DeviceSignIn, form: AgentChoiceForm) -> HttpResponse:
    now, by = database_now(), actor(request)
    with transaction.atomic():
        held = terminals.hold(sign_in, at=now)
        agent: Agent = form.stored_agent(person=request.user, host=None, by=by)
        terminals.approve(
            held, agent, approved_by=request.user, by=by, ends_at=form.ends_at(at=now), at=now
        )
    name = sign_in.machine or TERMINAL.capitalize()
    messages.success(request, f"{name} is connected as {agent.agent_id}. Go back to the terminal.")
    return SeeOther("inbox")


def _refuse(request: PersonRequest, sign_in: DeviceSignIn) -> HttpResponse:
    terminals.refuse(sign_in, at=database_now())
    messages.info(request, "Nothing was connected. The terminal is told that you refused.")
    return SeeOther("inbox")


def _proposal(request: PersonRequest, sign_in: DeviceSignIn) -> str:
    return (
        sign_in.proposed_id
        or as_agent_id(sign_in.machine)
        or proposal_for("terminal", request.user)
    )


def _ask_for_code(request: PersonRequest, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if context.get("is_wrong") else HTTPStatus.OK
    return render(request, "accounts/oauth/device/code.html", context, status=status)
