"""Shows a person the clients that they connected, in all teams, and lets them end each one."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.access.requests import PersonRequest, actor
from accounts.models import OAuthGrant, User
from accounts.oauth import grants
from accounts.oauth.pages.listing import grant_lines
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.panels import Panel
from pages.settings import saved


def panel(of: User, *, user: User, at: datetime) -> Panel:
    """Returns the card of the page about security."""
    lines = grant_lines(OAuthGrant.objects.open(at).of_person(of), at=at)
    return Panel("accounts/oauth/settings/_own_clients.html", {"lines": lines})


@form_page
@page
@requires_password
def end_own_client(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and ends on POST. The person need not own the team, and may have
    left it."""
    grant = get_object_or_404(OAuthGrant.objects.of_person(request.user), pk=pk)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"End {grant} as {grant.key.agent}",
            text=grants.ENDING,
            action="End",
            back=f"{reverse('settings-security')}#clients",
        )
    grants.end(grant, by=actor(request), at=database_now())
    message = f"{grant} was ended. It can no longer deliver or read answers."
    return saved(request, "settings-security", message)
