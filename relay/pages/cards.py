"""Shows an agent's card. Owners of the agent's team publish and change the card; other members read
it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from accounts.access.objects import agents_of, is_owner
from accounts.access.owners import owners_only, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.models import Agent
from accounts.sign_in.reauthentication import ask_if_stale
from database.clock import database_now
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted
from relay.cards import cards, publishing
from relay.models import Card
from relay.pages.forms import CardForm, skill_forms

OWNERS_ONLY = "Only team owners can publish agents and manage caller keys"


@form_page
@page
def agent_card(request: PersonRequest, pk: UUID) -> HttpResponse:
    agent = find_agent(request, pk)
    now, card = database_now(), Card.objects.of(agent) or Card(agent=agent, enabled=False)
    if request.method == "POST":
        owners_only(request, agent.team_id, refusal=OWNERS_ONLY)
        if _opens_to_everyone(request, card) and (ask := ask_if_stale(request)):
            return ask
    form, skills = CardForm(card, posted(request), at=now), skill_forms(card, posted(request))
    # Both forms are validated, because each form reports its own errors.
    if not all([form.is_valid(), skills.is_valid()]) or not publishing.has_url_safe_id(agent):
        return _show(request, card, form=form, skills=skills)
    fields = {**form.cleaned_data, "skills": skills.skills()}
    with still_owned(request, agent.team_id):
        publishing.publish(agent, by=actor(request), at=now, **fields)
    message = "Saved." if card.enabled else f"{agent} is published. Other agents can now call it."
    messages.success(request, message)
    return SeeOther("agent-card", pk=pk)


@form_page
@page
def unpublish(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and unpublishes on POST."""
    agent = find_agent(request, pk)
    card = get_object_or_404(Card, agent=agent)
    owners_only(request, agent.team_id, refusal=OWNERS_ONLY)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Unpublish {agent}",
            text="Callers can no longer reach it. Tasks and card are kept, and you can publish it "
            "again.",
            action="Unpublish",
            back=reverse("agent-card", args=[pk]),
            nav="agents",
        )
    with still_owned(request, agent.team_id):
        publishing.unpublish(card, by=actor(request), at=database_now())
    messages.success(request, f"{agent} is no longer published. Its card is kept here.")
    return SeeOther("agent-card", pk=pk)


def find_agent(request: PersonRequest, pk: UUID) -> Agent:
    """Returns an agent of the person's teams. An agent of another team and an unknown id are the
    same 404."""
    return get_object_or_404(agents_of(request.user).select_related("team"), pk=pk)


def _opens_to_everyone(request: PersonRequest, card: Card) -> bool:
    """Returns whether the form admits anonymous callers who may not call the agent yet. In that
    case the page asks for the password, as before issuing a caller key."""
    is_open = card.enabled and card.access == Card.Access.PUBLIC
    return request.POST.get("access") == Card.Access.PUBLIC and not is_open


def _show(request: PersonRequest, card: Card, **forms: Any) -> HttpResponse:
    """Renders the page, with status 422 if an invalid form was sent."""
    is_wrong = request.method == "POST"
    context = {
        "nav": "agents",
        "now": database_now(),
        "agent": card.agent,
        "card": card,
        "address": cards.base_url_of(card),
        "origin": settings.WAKE_ORIGIN,
        "card_path": cards.path_of(card) + cards.PATH,
        "has_url_safe_id": publishing.has_url_safe_id(card.agent),
        "is_owner": is_owner(request.user, card.agent.team_id),
        **forms,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "relay/cards/card.html", context, status=status)
