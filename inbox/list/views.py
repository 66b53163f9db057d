"""Shows the inbox: what waits, in four sections, and what was answered a moment ago."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from database.batched_queries import Cursor
from database.clock import database_now
from database.uuids import uuid_or_none
from inbox.answering.answer_status import answer_status, just_answered
from inbox.connect import welcome
from inbox.deadlines import closing_soon
from inbox.list import acknowledged, daily_summary, sections, updates
from inbox.pages import team_filter
from inbox.pages.filter_state import FilterState
from inbox.pages.page import PersonRequest, SeeOther, page
from inbox.pages.viewer import Viewer
from inbox.search.query_language import read_form
from inbox.search.search import Search

SELECTION_PAGES = {"review": "batch", "later": "snooze-choices"}
CONTROLS = ("team", "agent", "type", "window")


@require_safe
@page
def inbox_list(request: PersonRequest) -> HttpResponse:
    query = read_form(request.GET)
    if query.delivery_id:
        return SeeOther("delivery", pk=query.delivery_id)
    now = database_now()
    viewer = Viewer.of(request.user)
    team_filter.chosen(viewer, request.GET)  # raises Http404
    search = Search.of(viewer, query)
    query = search.query
    before = Cursor.read(request.GET.get("before", ""))
    back = closing_soon.back_at_work(request.user, at=now)
    inbox = sections.inbox(search, at=now, back=back, before=before)
    filters = FilterState.from_query(request.GET)
    context = {
        "here": "inbox",
        "now": now,
        "viewer": viewer,
        "query": query,
        "form": query.as_form(CONTROLS),
        "tabs": team_filter.tabs(viewer, query.team, q=query.as_form([team_filter.TEAM])["q"]),
        "titles": sections.TITLES,
        "inbox": inbox,
        "headline": sections.headline(inbox.sections),
        "until_back": closing_soon.until_when(back, at=now),
        "is_later_page": before is not None,
        "team_slug": query.team,
        "filters": filters,
        "selected_elsewhere": filters.selected_elsewhere(inbox.ids),
        "acknowledged": acknowledged.remembered(request.session, by=request.user, at=now),
        "since": updates.mark(now),
        **_notices(viewer, search, inbox, request.GET.get("answered", ""), at=now),
    }
    return render(request, "inbox/list/inbox.html", context)


@require_safe
@page
def inbox_updates(request: PersonRequest) -> HttpResponse:
    """Returns 204, or a line that links to the new deliveries; rows never move by themselves."""
    since = updates.read_mark(request.GET.get("since", ""))
    viewer = team_filter.chosen(Viewer.of(request.user), request.GET)
    count = updates.new_since(viewer, since) if since else ""
    if not count:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    context = {"count": count, "team_slug": team_filter.slug_of(request.GET)}
    return render(request, "inbox/list/_updates.html", context)


@require_POST
@page
def act_on_selection(request: PersonRequest) -> HttpResponse:
    """Redirects to the page that `to` names (`review` or `later`), or back to the inbox."""
    filters = FilterState.from_form(request.POST)
    to = request.POST.get("to", "")
    if to in SELECTION_PAGES and filters.ids:
        return SeeOther(SELECTION_PAGES[to], query=filters.selection_query())
    return SeeOther("inbox", query=str(filters))


def _notices(
    viewer: Viewer, search: Search, inbox: sections.Inbox, answered: str, *, at: datetime
) -> dict[str, Any]:
    """Returns the summary or the first steps of an empty inbox, and the answers that are still
    held."""
    notices: dict[str, Any] = {}
    if inbox.is_clear and not search.query.narrows and not search.query.is_test:
        notices["daily_summary"] = daily_summary.daily_summary(search.viewer, at=at)
        if not notices["daily_summary"].has_begun and viewer.team_ids:
            notices["first_run"] = welcome.first_run(search.viewer, at=at)
            if search.viewer == viewer:  # their other teams are empty, too
                return notices
    responses = just_answered(viewer, also=uuid_or_none(answered))
    notices["answered"] = [
        (response, answer_status(response, viewer, at=at)) for response in responses
    ]
    return notices
