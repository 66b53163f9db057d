"""Lets owners end the clients that people connected to an agent."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.access.owners import owned_agent, still_owned
from accounts.access.requests import PersonRequest, actor
from accounts.models import OAuthGrant
from accounts.oauth import grants
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.redirects import SeeOther


@form_page
@page
@requires_password
def end_client(request: PersonRequest, pk: UUID, client: UUID) -> HttpResponse:
    """Asks for confirmation on GET and ends on POST."""
    agent = owned_agent(request, pk)
    grant = get_object_or_404(OAuthGrant.objects.of_agent(agent), pk=client)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"End {grant} as {agent}",
            text=grants.ENDING,
            action="End",
            back=reverse("agent", args=[pk]),
            nav="agents",
        )
    with still_owned(request, agent.team_id):
        grants.end(grant, by=actor(request), at=database_now())
    messages.success(request, f"{grant} was ended. It can no longer deliver or read answers.")
    return SeeOther("agent", pk=pk)
