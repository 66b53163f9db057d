"""The page of an agent's card: owners of its team publish it and change what it says, the others
read it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.access import agents_of, is_owner
from accounts.models import Agent
from inbox.views.page import PersonRequest, SeeOther, actor, form_page, page
from inbox.views.settings import posted
from relay import cards, publishing
from relay.forms import CardForm, skill_forms
from relay.models import Card

OWNERS_ONLY = "Only owners of the team say who may call its agents, and what their cards say"


@form_page
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = find_agent(request, pk)
    now, card = timezone.now(), Card.objects.of(agent) or Card(agent=agent, enabled=False)
    if request.method == "POST":
        owners_only(request, agent)
    form, skills = CardForm(card, posted(request), at=now), skill_forms(card, posted(request))
    # Both are asked: each says its own errors.
    if not all([form.is_valid(), skills.is_valid()]) or not publishing.fits(agent):
        return _show(request, card, form=form, skills=skills)
    fields = {**form.cleaned_data, "skills": skills.skills()}
    publishing.publish(agent, by=actor(request), at=now, **fields)
    words = "Saved." if card.enabled else f"{agent} is published: other agents can call it."
    messages.success(request, words)
    return SeeOther("agent-card", pk=pk)


@require_POST
@page
def unpublish(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = find_agent(request, pk)
    card = get_object_or_404(Card, agent=agent)
    owners_only(request, agent)
    publishing.unpublish(card, by=actor(request), at=timezone.now())
    messages.success(request, f"Nobody can call {agent} any more. Its card is kept here.")
    return SeeOther("agent-card", pk=pk)


def find_agent(request: PersonRequest, pk: UUID) -> Agent:
    """Not theirs and not there are the same 404."""
    return get_object_or_404(agents_of(request.user).select_related("team"), pk=pk)


def owners_only(request: PersonRequest, agent: Agent) -> None:
    if not is_owner(request.user, agent.team_id):
        raise PermissionDenied(OWNERS_ONLY)


def _show(request: PersonRequest, card: Card, **forms: Any) -> HttpResponse:
    """422 where one of the forms was sent and is not right."""
    is_wrong = request.method == "POST"
    context = {
        "here": "agents",
        "now": timezone.now(),
        "agent": card.agent,
        "card": card,
        "address": cards.address_of(card),
        "origin": settings.WAKE_ORIGIN,
        "card_path": cards.path_of(card) + cards.PATH,
        "fits": publishing.fits(card.agent),
        "is_owner": is_owner(request.user, card.agent.team_id),
        **forms,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "relay/card.html", context, status=status)
