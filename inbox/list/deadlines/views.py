"""Shows the deadlines that close before the person is back, and the missed ones."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import team_filter
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from database.batched_queries import Cursor
from database.clock import database_now
from inbox.list.deadlines import closing_soon, missed
from pages.page import page


@require_safe
@page
def closing_soon_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    back = closing_soon.back_at_work(request.user, at=now)
    viewer = Viewer.of(request.user)
    in_team = team_filter.chosen(viewer, request.GET)
    closing = closing_soon.closing_soon(in_team, at=now, until=back)
    context = {
        "nav": "inbox",
        "now": now,
        "team_slug": team_filter.slug_of(request.GET),
        "tabs": team_filter.tabs(viewer, team_filter.slug_of(request.GET)),
        "until": closing_soon.until_when(back, at=now),
        "closing": closing[: closing_soon.MAX_LISTED],
        "has_more": len(closing) > closing_soon.MAX_LISTED,
    }
    return render(request, "inbox/list/deadlines/closing_soon.html", context)


@require_safe
@page
def missed_deadline_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    before = Cursor.read(request.GET.get("before", ""))
    lines, older = missed.page(Viewer.of(request.user), at=now, before=before)
    context = {
        "nav": "history",
        "now": now,
        "lines": lines,
        "older": older,
        "is_later_page": before is not None,
    }
    return render(request, "inbox/list/deadlines/missed.html", context)
