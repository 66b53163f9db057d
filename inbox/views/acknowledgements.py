"""Saying "Got it" to what needs no answer, and taking that back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.throttles import client_address
from inbox import got_it
from inbox.places import Place, read_ids
from inbox.views.page import PersonRequest, SeeOther, page
from wake.acknowledgements import acknowledge, bring_back


@require_POST
@page
def say(request: PersonRequest) -> HttpResponse:
    """`shown` is what one button is for, a row or all of a section; without it, the selection."""
    now = timezone.now()
    place = Place.left(request.POST)
    asked = read_ids(request.POST.get("shown", "").split(",")) or place.ids
    rows = acknowledge(asked, by=request.user, address=client_address(request), at=now)
    if rows:
        got_it.remember(request.session, rows, at=now)
    if words := got_it.told(rows, asked, by=request.user):
        messages.warning(request, words)
    return SeeOther("inbox", query=str(place.without({row.pk for row in rows})))


@require_POST
@page
def undo(request: PersonRequest) -> HttpResponse:
    """`shown` as above."""
    asked = read_ids(request.POST.get("shown", "").split(","))
    bring_back(asked, by=request.user, address=client_address(request))
    got_it.forget(request.session)
    return SeeOther("inbox", query=str(Place.left(request.POST)))
