"""Lets a person take a delivery."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from accounts.access.objects import NotAllowed
from accounts.access.requests import PersonRequest
from accounts.limits.throttles import client_address
from database.clock import database_now
from inbox.reading.finding import find_delivery
from inbox.search.filter_state import FilterState
from pages.page import page
from pages.redirects import SeeOther
from wake.assignment.taking import take


@require_POST
@page
def take_delivery(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Assigns the delivery to this person, and shows the delivery again."""
    delivery = find_delivery(request.user, pk)
    try:
        take(delivery, by=request.user, address=client_address(request), at=database_now())
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    return SeeOther("delivery", pk=pk, query=FilterState.from_back(request.POST).back_query())
