"""Snoozes deliveries, and lists the snoozed ones."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.access.requests import PersonRequest
from database.clock import database_now
from inbox.reading import snoozes
from inbox.reading.finding import find_delivery
from inbox.reading.snoozes import NotLater, NotWaiting
from inbox.search.filter_state import FilterState
from pages.page import page
from pages.redirects import SeeOther


@require_safe
@page
def snoozed_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    context = {"nav": "inbox", "now": now, "snoozed": snoozes.snoozed(request.user, at=now)}
    return render(request, "inbox/list/snoozed.html", context)


@require_safe
@page
def choose_snooze(request: PersonRequest) -> HttpResponse:
    """Asks when the selected deliveries are to come back."""
    now = database_now()
    filters = FilterState.from_form(request.GET)
    deliveries = snoozes.snoozable(filters.ids, by=request.user)
    context = {
        "nav": "inbox",
        "now": now,
        "deliveries": deliveries,
        "choices": snoozes.choices_for_many(deliveries, by=request.user, at=now),
        "filters": filters,
    }
    return render(request, "inbox/list/choose_time.html", context)


@require_POST
@page
def snooze_selected(request: PersonRequest) -> HttpResponse:
    now = database_now()
    filters = FilterState.from_form(request.POST)
    try:
        until = snoozes.chosen(request.POST.get("choice", ""), by=request.user, at=now)
    except NotLater as reason:
        messages.warning(request, str(reason))
        return SeeOther("inbox", query=str(filters))
    rows = snoozes.snooze_many(filters.ids, by=request.user, until=until, at=now)
    messages.success(request, snoozes.confirmation_of_many(rows, until=until, at=now))
    return SeeOther("inbox", query=str(filters.deselect({row.delivery_id for row in rows})))


@require_POST
@page
def snooze_delivery(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Snoozes one delivery; `choice` is a line of the menu."""
    delivery = find_delivery(request.user, pk)
    now = database_now()
    try:
        until = snoozes.chosen(request.POST.get("choice", ""), by=request.user, at=now)
        row = snoozes.snooze(delivery, by=request.user, until=until, at=now)
    except (NotLater, NotWaiting) as reason:
        messages.warning(request, str(reason))
        return SeeOther("delivery", pk=pk)
    messages.success(request, f"Snoozed. {snoozes.confirmation(row, at=now)}")
    return SeeOther("inbox", query=str(FilterState.from_back(request.POST)))


@require_POST
@page
def unsnooze_delivery(request: PersonRequest, pk: UUID) -> HttpResponse:
    snoozes.unsnooze(find_delivery(request.user, pk), by=request.user)
    messages.success(request, "Back in your inbox.")
    return SeeOther("snoozed")
