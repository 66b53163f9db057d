"""Acknowledges deliveries that need no answer, and undoes acknowledgements."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from accounts.access.requests import PersonRequest
from accounts.limits.throttles import client_address
from database.clock import database_now
from inbox.answering import acknowledged
from inbox.delivery.neighbours import after_answer, next_to_open
from inbox.search.filter_state import FilterState, read_ids
from pages.page import page
from pages.redirects import SeeOther
from wake.acknowledgements import acknowledge, bring_back


@require_POST
@page
def acknowledge_selected(request: PersonRequest) -> HttpResponse:
    """Acknowledges the deliveries whose ids are in `deliveries` (one row, or a whole section).
    Without `deliveries`, acknowledges the selection."""
    now = database_now()
    filters = FilterState.from_form(request.POST)
    requested = read_ids(request.POST.get("deliveries", "").split(",")) or filters.ids
    first = requested[0] if requested else None
    following = next_to_open(first, request.POST, filters, request.user, at=now)
    rows = acknowledge(requested, by=request.user, address=client_address(request), at=now)
    if rows:
        acknowledged.remember(request.session, rows, at=now)
    if warning := acknowledged.warning(rows, requested, by=request.user):
        messages.warning(request, warning)
    if following is not None and rows:
        return after_answer(rows[0].pk, following, filters)
    return SeeOther("inbox", query=str(filters.deselect({row.pk for row in rows})))


@require_POST
@page
def undo_acknowledgement(request: PersonRequest) -> HttpResponse:
    """Brings the deliveries whose ids are in `deliveries` back to the inbox."""
    requested = read_ids(request.POST.get("deliveries", "").split(","))
    rows = bring_back(
        requested, by=request.user, address=client_address(request), at=database_now()
    )
    if rows:
        messages.success(request, "Back in the inbox.")
    acknowledged.forget(request.session, requested)
    return SeeOther("inbox", query=str(FilterState.from_form(request.POST)))
