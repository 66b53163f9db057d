"""Lets owners rotate the secret that signs an agent's callbacks, and retire the old one."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from accounts.access.owners import owned_agent
from accounts.access.requests import PersonRequest, actor
from accounts.agents import credential_version, signing_secrets
from accounts.models import Agent
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from inbox.agents.credentials.show_once import no_longer_visible, shown_once
from inbox.agents.forms import OnceForm
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted


@form_page
@page
@requires_password
def rotate_secret(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, by = owned_agent(request, pk), actor(request)
    form = OnceForm(posted(request), initial={"version": credential_version.current(agent)})
    if not form.is_valid():
        return _form(request, agent, form)
    try:
        with transaction.atomic():
            credential_version.lock_if_unchanged(
                agent, expected=form.cleaned_data["version"], by=by
            )
            text = signing_secrets.rotate_secret(agent, by=by)
    except credential_version.AlreadyIssued:
        return no_longer_visible(request, agent)
    except signing_secrets.RotationInProgress as reason:
        messages.warning(request, str(reason))
        return SeeOther("agent-secret", pk=pk)
    return shown_once(request, agent, "secret", text)


@require_POST
@page
@requires_password
def switch_secret(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Retires the older of the two secrets on the page. Refuses if an owner has rotated the secrets
    since."""
    agent, by = owned_agent(request, pk), actor(request)
    try:
        with transaction.atomic():
            credential_version.lock_if_unchanged(
                agent, expected=request.POST.get("version", ""), by=by
            )
            signing_secrets.switch_secret(agent, by=by, at=database_now())
    except credential_version.AlreadyIssued as reason:
        messages.warning(request, f"{reason} No secret was retired. Check the page and try again.")
    else:
        messages.success(request, "The old secret was retired. The new one signs every header.")
    return SeeOther("agent-secret", pk=pk)


def _form(request: PersonRequest, agent: Agent, form: OnceForm) -> HttpResponse:
    context = {
        "nav": "agents",
        "now": database_now(),
        "agent": agent,
        "form": form,
        "in_use": agent.signing_secrets.in_use(),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agents/credentials/signing_secret.html", context, status=status)
