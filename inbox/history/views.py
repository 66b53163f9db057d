"""Shows the history and searches it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import team_filter
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from database.batched_queries import Cursor
from database.clock import database_now
from inbox.history import history
from inbox.search.outcomes import PAST
from inbox.search.query_language import read_form
from inbox.search.search import Search
from pages.page import page
from pages.recent_writes import reader_for
from pages.redirects import SeeOther

CONTROLS = ("team", "status", "agent", "by", "from", "to")


@require_safe
@page
def history_list(request: PersonRequest) -> HttpResponse:
    query = read_form(request.GET)
    if query.delivery_id:
        return SeeOther("delivery", pk=query.delivery_id)
    now = database_now()
    viewer = Viewer.of(request.user)
    team_filter.chosen(viewer, request.GET)  # raises Http404
    before, read = Cursor.read(request.GET.get("before", "")), reader_for(request)
    search = read(lambda: Search.of(viewer, query))
    rows, older = read(lambda: history.page(search, at=now, before=before))
    context = {
        "nav": "history",
        "now": now,
        "query": search.query,
        "form": search.query.as_form(CONTROLS),
        "tabs": team_filter.tabs(
            viewer, search.query.team, q=search.query.as_form([team_filter.TEAM])["q"]
        ),
        "team_slug": search.query.team,
        "outcomes": PAST,
        "rows": rows,
        "older": older,
        "is_later_page": before is not None,
    }
    return render(request, "inbox/history/history.html", context)
