"""The history: everything that ended, and the search in it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox import history, switch
from inbox.outcomes import PAST
from inbox.query_language import read_form
from inbox.search import Search
from inbox.slices import Cursor
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, SeeOther, page

CONTROLS = ("team", "status", "agent", "by", "from", "to")


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    query = read_form(request.GET)
    if query.delivery_id:
        return SeeOther("delivery", pk=query.delivery_id)
    now = timezone.now()
    viewer = Viewer.of(request.user)
    switch.chosen(viewer, request.GET)  # or 404
    search = Search.of(viewer, query)
    before = Cursor.read(request.GET.get("before", ""))
    rows, older = history.page(search, at=now, before=before)
    context = {
        "here": "history",
        "now": now,
        "asked": search.query,
        "form": search.query.as_form(CONTROLS),
        "tabs": switch.tabs(viewer, search.query.team, q=search.query.as_form([switch.TEAM])["q"]),
        "in_team": search.query.team,
        "outcomes": PAST,
        "rows": rows,
        "older": older,
        "is_later_page": before is not None,
    }
    return render(request, "inbox/history.html", context)
