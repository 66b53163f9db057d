"""The page of those who may call an agent: owners of its team issue their keys, each shown once,
and revoke them; the others read it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts import members
from accounts.access import is_owner
from accounts.models import Agent
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.password_again import password_again
from relay import callers, publishing
from relay.card_pages import find_agent, owners_only
from relay.forms import CallerKeyForm
from relay.models import Card


@require_safe
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, now = find_agent(request, pk), timezone.now()
    card = Card.objects.of(agent)
    keys = agent.team.caller_keys.order_by("-created_at", "pk")
    context: dict[str, Any] = {
        "card": card,
        "now": now,
        "listed": set(card.callers.values_list("pk", flat=True)) if card else set(),
        "lines": [(key, key.is_usable(now)) for key in keys],
        "is_owner": is_owner(request.user, agent.team_id),
    }
    return _page(request, agent, "callers", **context)


@form_page
@page
@password_again
def new(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = find_agent(request, pk)
    owners_only(request, agent)
    if request.method != "POST":
        return _page(request, agent, "caller_new", form=_form(agent))
    return _issue(request, agent, CallerKeyForm(request.POST))


@require_POST
@page
@password_again
def revoke(request: PersonRequest, pk: UUID, key: UUID) -> HttpResponse:
    agent = find_agent(request, pk)
    row = get_object_or_404(agent.team.caller_keys, pk=key)
    owners_only(request, agent)
    callers.revoke(row, by=actor(request), at=timezone.now())
    messages.success(request, f"The key of {row} is revoked. It works no more.")
    return SeeOther("caller-keys", pk=pk)


@transaction.atomic
def _issue(request: PersonRequest, agent: Agent, form: CallerKeyForm) -> HttpResponse:
    """One at a time for each team, and of an owner still: a double click, too, issues one key. No
    redirect: the key is nowhere else, and this is the only time that it is shown."""
    by = actor(request)
    members.hold_as_owner(agent.team_id, by=by)
    if not form.is_valid():
        return _page(
            request, agent, "caller_new", status=HTTPStatus.UNPROCESSABLE_ENTITY, form=form
        )
    if form.cleaned_data["seen"] != _seen(agent):
        return _page(request, agent, "caller_shown", status=HTTPStatus.GONE)
    now = timezone.now()
    name, ends = form.cleaned_data["name"], form.expires_at(at=now)
    key, text = callers.mint(agent.team, name=name, by=by, expires_at=ends)
    publishing.let_in(key, agent, by=by, at=now)
    return _page(request, agent, "caller_shown", key=key, text=text)


def _form(agent: Agent) -> CallerKeyForm:
    return CallerKeyForm(initial={"seen": _seen(agent)})


def _seen(agent: Agent) -> int:
    return agent.team.caller_keys.count()


def _page(
    request: PersonRequest,
    agent: Agent,
    name: str,
    *,
    status: int = HTTPStatus.OK,
    **context: Any,
) -> HttpResponse:
    context = {"here": "agents", "agent": agent, "path": f"/@{agent.team.slug}/{agent}", **context}
    return render(request, f"relay/{name}.html", context, status=status)
