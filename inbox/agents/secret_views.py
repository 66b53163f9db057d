"""Owners rotate the secret that signs an agent's callbacks, and retire the old one."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts import credentials, signing_secrets
from accounts.models import Agent
from inbox.forms_agents import SeenForm
from inbox.views.agent_once import no_longer_visible, shown_once
from inbox.views.owners import owned_agent
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.password_again import password_again
from inbox.views.settings import posted


@form_page
@page
@password_again
def rotate(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, by = owned_agent(request, pk), actor(request)
    form = SeenForm(posted(request), initial={"seen": credentials.seen(agent)})
    if not form.is_valid():
        return _form(request, agent, form)
    try:
        with transaction.atomic():
            credentials.hold(agent, as_seen=form.cleaned_data["seen"], by=by)
            text = signing_secrets.rotate_secret(agent, by=by)
    except credentials.AlreadyMade:
        return no_longer_visible(request, agent)
    except signing_secrets.RotationUnderWay as reason:
        messages.warning(request, str(reason))
        return SeeOther("agent-secret", pk=pk)
    return shown_once(request, agent, "secret", text)


@require_POST
@page
@password_again
def switch(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Of the two that the page showed: another rotation since then has an old one of its own."""
    agent, by = owned_agent(request, pk), actor(request)
    try:
        with transaction.atomic():
            credentials.hold(agent, as_seen=request.POST.get("seen", ""), by=by)
            signing_secrets.switch_secret(agent, by=by, at=timezone.now())
    except credentials.AlreadyMade as reason:
        messages.warning(request, f"{reason} Nothing was retired: look again.")
    else:
        messages.success(request, "The old secret is retired. The new one signs every header.")
    return SeeOther("agent-secret", pk=pk)


def _form(request: PersonRequest, agent: Agent, form: SeenForm) -> HttpResponse:
    context = {
        "here": "agents",
        "now": timezone.now(),
        "agent": agent,
        "form": form,
        "in_use": agent.signing_secrets.in_use(),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agent_secret.html", context, status=status)
