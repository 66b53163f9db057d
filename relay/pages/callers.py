"""Shows the caller keys of an agent. Owners of its team issue and revoke keys, and each key is
shown only once. Other members read the page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access.objects import is_owner
from accounts.access.owners import owners_only, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.models import Agent
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from relay.cards import callers, publishing
from relay.models import Card
from relay.pages.cards import OWNERS_ONLY, find_agent
from relay.pages.forms import CallerKeyForm


@require_safe
@page
def caller_keys(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, now = find_agent(request, pk), database_now()
    card = Card.objects.of(agent)
    keys = agent.team.caller_keys.order_by("-created_at", "pk")
    context: dict[str, Any] = {
        "card": card,
        "now": now,
        "allowed_keys": set(card.callers.values_list("pk", flat=True)) if card else set(),
        "lines": [(key, key.is_usable(now)) for key in keys],
        "is_owner": is_owner(request.user, agent.team_id),
    }
    return _page(request, agent, "callers", **context)


@form_page
@page
@requires_password
def new(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = find_agent(request, pk)
    owners_only(request, agent.team_id, refusal=OWNERS_ONLY)
    if request.method != "POST":
        return _page(request, agent, "new", form=_form(agent))
    with still_owned(request, agent.team_id):
        return _issue(request, agent, CallerKeyForm(request.POST))


@form_page
@page
@requires_password
def revoke(request: PersonRequest, pk: UUID, key: UUID) -> HttpResponse:
    """Asks for confirmation on GET and revokes on POST."""
    agent = find_agent(request, pk)
    caller_key = get_object_or_404(agent.team.caller_keys, pk=key)
    owners_only(request, agent.team_id, refusal=OWNERS_ONLY)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Revoke the key of {caller_key}",
            text="The key stops working immediately, and this can't be undone. Programs that still "
            "use it can no longer call your agents.",
            action="Revoke key",
            back=reverse("caller-keys", args=[pk]),
            nav="agents",
        )
    with still_owned(request, agent.team_id):
        callers.revoke(caller_key, by=actor(request), at=database_now())
    messages.success(request, f"The key of {caller_key} was revoked. It no longer works.")
    return SeeOther("caller-keys", pk=pk)


def _issue(request: PersonRequest, agent: Agent, form: CallerKeyForm) -> HttpResponse:
    """Issues a key under the team's lock, so that a double click issues only one key. Answers
    without a redirect, because the key is never shown again."""
    if not form.is_valid():
        return _page(request, agent, "new", status=HTTPStatus.UNPROCESSABLE_ENTITY, form=form)
    if form.cleaned_data["version"] != _number_of_keys(agent):
        return _page(request, agent, "show_once", status=HTTPStatus.GONE)
    by, now = actor(request), database_now()
    name, ends = form.cleaned_data["name"], form.expires_at(at=now)
    key, text = callers.mint(agent.team, name=name, by=by, expires_at=ends)
    publishing.allow_caller(key, agent, by=by, at=now)
    return _page(request, agent, "show_once", key=key, text=text)


def _form(agent: Agent) -> CallerKeyForm:
    return CallerKeyForm(initial={"version": _number_of_keys(agent)})


def _number_of_keys(agent: Agent) -> int:
    return agent.team.caller_keys.count()


def _page(
    request: PersonRequest,
    agent: Agent,
    name: str,
    *,
    status: int = HTTPStatus.OK,
    **context: Any,
) -> HttpResponse:
    context = {"nav": "agents", "agent": agent, "path": f"/@{agent.team.slug}/{agent}", **context}
    return render(request, f"relay/callers/{name}.html", context, status=status)
