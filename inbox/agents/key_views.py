"""Owners issue the keys of an agent, each shown once, rotate and revoke them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from accounts import credentials, keys
from accounts.models import Agent
from inbox.forms_agents import NewKeyForm, RotationForm, SeenForm
from inbox.views.agent_once import no_longer_visible, shown_once
from inbox.views.owners import owned_agent
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.password_again import password_again
from inbox.views.settings import posted


@form_page
@page
@password_again
def issue(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, by, now = owned_agent(request, pk), actor(request), timezone.now()
    form = NewKeyForm(posted(request), initial={"seen": credentials.seen(agent)})
    if not form.is_valid():
        return _form(request, agent, "agent_key_new", form)
    try:
        with transaction.atomic():
            credentials.hold(agent, as_seen=form.cleaned_data["seen"], by=by)
            lane, ends = form.cleaned_data["lane"], form.expires_at(at=now)
            key, text = keys.mint(agent, by=by, lane=lane, expires_at=ends)
    except credentials.AlreadyMade:
        return no_longer_visible(request, agent)
    except keys.TooManyKeys as reason:
        form.add_error(None, str(reason))
        return _form(request, agent, "agent_key_new", form)
    return shown_once(request, agent, "key", text, key=key)


@form_page
@page
@password_again
def rotate(request: PersonRequest, pk: UUID, key: UUID) -> HttpResponse:
    agent, now = owned_agent(request, pk), timezone.now()
    old = get_object_or_404(agent.keys, pk=key)
    form = RotationForm(posted(request), initial={"seen": credentials.seen(agent)})
    if not form.is_valid():
        return _form(request, agent, "agent_key_rotate", form, key=old)
    by, overlap, ends = actor(request), form.delta, form.expires_at(at=now)
    try:
        with transaction.atomic():
            credentials.hold(agent, as_seen=form.cleaned_data["seen"], by=by)
            new, text = keys.rotate(old, by=by, overlap=overlap, expires_at=ends, at=now)
    except credentials.AlreadyMade:
        return no_longer_visible(request, agent)
    except keys.NoLongerWorks as reason:
        messages.warning(request, str(reason))
        return SeeOther("agent", pk=pk)
    except keys.TooManyKeys as reason:
        form.add_error(None, str(reason))
        return _form(request, agent, "agent_key_rotate", form, key=old)
    old.refresh_from_db(fields=["expires_at"])
    return shown_once(request, agent, "key", text, key=new, old=old, now=now)


@form_page
@page
@password_again
def revoke(request: PersonRequest, pk: UUID, key: UUID) -> HttpResponse:
    """The page asks; only its button revokes."""
    agent = owned_agent(request, pk)
    row = get_object_or_404(agent.keys, pk=key)
    if request.method != "POST":
        return _form(request, agent, "agent_key_revoke", key=row)
    keys.revoke(row, by=actor(request), at=timezone.now())
    messages.success(request, f"{row} is revoked. It works no more.")
    return SeeOther("agent", pk=pk)


def _form(
    request: PersonRequest, agent: Agent, name: str, form: SeenForm | None = None, **context: Any
) -> HttpResponse:
    context = {"here": "agents", "now": timezone.now(), "agent": agent, "form": form, **context}
    is_wrong = form is not None and bool(form.errors)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, f"inbox/{name}.html", context, status=status)
