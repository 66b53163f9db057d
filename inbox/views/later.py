"""Putting a delivery off, seeing what is put off, and marking what was read as unread."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from inbox import later, reading
from inbox.later import NotLater, NotWaiting
from inbox.places import Place
from inbox.views.page import PersonRequest, SeeOther, find_delivery, page


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    context = {"here": "inbox", "now": now, "snoozed": later.snoozed(request.user, at=now)}
    return render(request, "inbox/later.html", context)


@require_safe
@page
def choose(request: PersonRequest) -> HttpResponse:
    """When shall these come back? For one row or for all that is selected."""
    now = timezone.now()
    place = Place.left(request.GET)
    deliveries = later.to_put_off(place.ids, by=request.user)
    context = {
        "here": "inbox",
        "now": now,
        "deliveries": deliveries,
        "choices": later.choices_together(deliveries, by=request.user, at=now),
        "place": place,
    }
    return render(request, "inbox/later_choices.html", context)


@require_POST
@page
def put_off_together(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    place = Place.left(request.POST)
    try:
        until = later.chosen(request.POST.get("choice", ""), by=request.user, at=now)
    except NotLater as reason:
        messages.warning(request, str(reason))
        return SeeOther("inbox", query=str(place))
    rows = later.snooze_together(place.ids, by=request.user, until=until, at=now)
    messages.success(request, later.told_together(rows, until=until, at=now))
    return SeeOther("inbox", query=str(place.without({row.delivery_id for row in rows})))


@require_POST
@page
def put_off(request: PersonRequest, pk: UUID) -> HttpResponse:
    """`choice` is a line of the menu."""
    delivery = find_delivery(request.user, pk)
    now = timezone.now()
    try:
        until = later.chosen(request.POST.get("choice", ""), by=request.user, at=now)
        row = later.snooze(delivery, by=request.user, until=until, at=now)
    except (NotLater, NotWaiting) as reason:
        messages.warning(request, str(reason))
        return SeeOther("delivery", pk=pk)
    messages.success(request, f"Put off. {later.told(row, at=now)}")
    return SeeOther("inbox", query=str(Place.back(request.POST)))


@require_POST
@page
def bring_back(request: PersonRequest, pk: UUID) -> HttpResponse:
    later.unsnooze(find_delivery(request.user, pk), by=request.user)
    messages.success(request, "It is in your inbox again.")
    return SeeOther("later")


@require_POST
@page
def read(request: PersonRequest, pk: UUID) -> HttpResponse:
    """`read` is yes or no; opening the page says yes by itself."""
    delivery = find_delivery(request.user, pk)
    if request.POST.get("read") == "no":
        reading.mark_unread(delivery, by=request.user)
    else:
        reading.mark_read(delivery, by=request.user, at=timezone.now())
    return SeeOther("inbox", query=str(Place.back(request.POST)))
