"""Lets owners issue, rotate and revoke the keys of an agent. Each key is shown once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from accounts.access.owners import owned_agent, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.agents import credential_version, keys
from accounts.models import Agent
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from inbox.agents.credentials.show_once import no_longer_visible, shown_once
from inbox.agents.forms import NewKeyForm, OnceForm, RotationForm
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted


@form_page
@page
@requires_password
def issue_key(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, by, now = owned_agent(request, pk), actor(request), database_now()
    form = NewKeyForm(posted(request), initial={"version": credential_version.current(agent)})
    if not form.is_valid():
        return _form(request, agent, "key_new", form)
    try:
        with transaction.atomic():
            credential_version.lock_if_unchanged(
                agent, expected=form.cleaned_data["version"], by=by
            )
            mode, ends = form.cleaned_data["mode"], form.expires_at(at=now)
            key, text = keys.mint(agent, by=by, mode=mode, expires_at=ends)
    except credential_version.AlreadyIssued:
        return no_longer_visible(request, agent)
    except keys.TooManyKeys as reason:
        form.add_error(None, str(reason))
        return _form(request, agent, "key_new", form)
    return shown_once(request, agent, "key", text, key=key)


@form_page
@page
@requires_password
def rotate_key(request: PersonRequest, pk: UUID, key: UUID) -> HttpResponse:
    agent, now = owned_agent(request, pk), database_now()
    old = get_object_or_404(agent.keys.without_grants(), pk=key)
    form = RotationForm(posted(request), initial={"version": credential_version.current(agent)})
    if not form.is_valid():
        return _form(request, agent, "key_rotate", form, key=old)
    by, overlap, ends = actor(request), form.delta, form.expires_at(at=now)
    try:
        with transaction.atomic():
            credential_version.lock_if_unchanged(
                agent, expected=form.cleaned_data["version"], by=by
            )
            new, text = keys.rotate(old, by=by, overlap=overlap, expires_at=ends, at=now)
    except credential_version.AlreadyIssued:
        return no_longer_visible(request, agent)
    except keys.NoLongerWorks as reason:
        messages.warning(request, str(reason))
        return SeeOther("agent", pk=pk)
    except keys.TooManyKeys as reason:
        form.add_error(None, str(reason))
        return _form(request, agent, "key_rotate", form, key=old)
    old.refresh_from_db(fields=["expires_at"])
    return shown_once(request, agent, "key", text, key=new, old=old, now=now)


@form_page
@page
@requires_password
def revoke_key(request: PersonRequest, pk: UUID, key: UUID) -> HttpResponse:
    """Asks for confirmation on GET and revokes on POST."""
    agent = owned_agent(request, pk)
    api_key = get_object_or_404(agent.keys.without_grants(), pk=key)
    if request.method != "POST":
        return _form(request, agent, "key_revoke", key=api_key)
    with still_owned(request, agent.team_id):
        keys.revoke(api_key, by=actor(request), at=database_now())
    messages.success(request, f"{api_key} was revoked. It no longer works.")
    return SeeOther("agent", pk=pk)


def _form(
    request: PersonRequest, agent: Agent, name: str, form: OnceForm | None = None, **context: Any
) -> HttpResponse:
    context = {"nav": "agents", "now": database_now(), "agent": agent, "form": form, **context}
    is_wrong = form is not None and bool(form.errors)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, f"inbox/agents/credentials/{name}.html", context, status=status)
