"""The other ids under which an orchestrator may deliver: owners grant them and take them back."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts import claims
from accounts.models import Agent
from inbox.forms_agents import ClaimForm
from inbox.views.owners import owned_agent
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.password_again import password_again
from inbox.views.settings import posted


@form_page
@page
@password_again
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent, form = owned_agent(request, pk), ClaimForm(posted(request))
    if not form.is_valid():
        return _form(request, agent, form)
    try:
        claim = claims.grant(agent, form.cleaned_data["pattern"], by=actor(request))
    except ValidationError as reason:
        form.add_error("pattern", reason)
        return _form(request, agent, form)
    messages.success(request, f"{agent} may deliver as {claim}.")
    return SeeOther("agent-claims", pk=pk)


@require_POST
@page
def remove(request: PersonRequest, pk: UUID, claim: int) -> HttpResponse:
    agent = owned_agent(request, pk)
    row = get_object_or_404(agent.claimed_ids, pk=claim)
    claims.withdraw(row, by=actor(request))
    messages.success(request, f"{agent} may no longer deliver as {row}.")
    return SeeOther("agent-claims", pk=pk)


def _form(request: PersonRequest, agent: Agent, form: ClaimForm) -> HttpResponse:
    context = {
        "here": "agents",
        "now": timezone.now(),
        "agent": agent,
        "claims": agent.claimed_ids.order_by("pattern"),
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/agent_claims.html", context, status=status)
