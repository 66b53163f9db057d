"""Shows the inbox: waiting deliveries in four sections, and deliveries that were just answered."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import team_filter
from accounts.access.moves import moves_of
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.models import User
from database.batched_queries import Cursor
from database.clock import database_now
from database.uuids import uuid_or_none
from inbox.agents.connect import welcome
from inbox.answering.just_done import JustDone, just_done, recent_ids
from inbox.history import history
from inbox.history.history import HistoryRow
from inbox.list import daily_summary, sections
from inbox.list.deadlines import closing_soon
from inbox.reading import updates
from inbox.reading.order import TITLES
from inbox.search import saved_views
from inbox.search.filter_state import FilterState
from inbox.search.query_language import read_form
from inbox.search.search import Search
from pages.page import page
from pages.recent_writes import reader_for
from pages.redirects import SeeOther

SELECTION_PAGES = {"review": "batch", "later": "snooze-choices"}
MAX_PAST = 10
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
    answered = uuid_or_none(request.GET.get("answered", ""))
    recent = recent_ids(request.session, answered=answered, at=now)
    inbox = sections.inbox(search, at=now, back=back, before=before, recent=recent)
    first_steps = _empty_inbox(search, inbox, request.user, at=now)
    # Only the viewer's first team has first steps.
    is_new = "first_run" in first_steps and search.viewer == viewer
    done = JustDone() if is_new else just_done(viewer, request.session, answered=answered, at=now)
    inbox = inbox.with_done(done).with_excerpts(query)
    filters = FilterState.from_query(request.GET)
    views = saved_views.views_of(request.user)
    context = {
        "nav": "inbox",
        "now": now,
        "viewer": viewer,
        "query": query,
        "form": query.as_form(CONTROLS),
        "saved_views": views,
        "past": (_past(request, search, inbox, at=now) if before is None else []),
        "current_view": next((view for view in views if view.query == str(query)), None),
        "is_searching": query.narrows or "q" in request.GET,
        "tabs": team_filter.tabs(viewer, query.team, q=query.as_form([team_filter.TEAM])["q"]),
        "titles": TITLES,
        "inbox": inbox,
        "headline": sections.headline(inbox),
        "result_count": sections.limited(inbox.total),
        "until_back": closing_soon.until_when(back, at=now),
        "is_later_page": before is not None,
        "team_slug": query.team,
        "filters": filters,
        "selected_elsewhere": filters.selected_elsewhere(inbox.ids),
        "done": done,
        "since": updates.mark(now),
        **first_steps,
    }
    return render(request, "inbox/list/inbox.html", context)


@require_safe
@page
def inbox_updates(request: PersonRequest) -> HttpResponse:
    """Returns 204, or a line that links to the new deliveries and failures, and a line for each
    delivery that ended. Rows never move by themselves."""
    since = updates.read_mark(request.GET.get("since", ""))
    viewer = team_filter.chosen(Viewer.of(request.user), request.GET)
    count = updates.new_since(viewer, since) if since else ""
    failures = updates.failed_since(viewer, since) if since and viewer.team_ids else ""
    endings = updates.ended_since(viewer, since) if since and viewer.team_ids else []
    if not (count or failures or endings):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    team_slug = team_filter.slug_of(request.GET)
    news = {"count": count, "failures": failures, "endings": endings}
    context = {**news, "team_slug": team_slug}
    return render(request, "inbox/list/_updates.html", context)


@require_POST
@page
def act_on_selection(request: PersonRequest) -> HttpResponse:
    """Redirects to the page in `to` (`review` or `later`), or back to the inbox."""
    filters = FilterState.from_form(request.POST)
    to = request.POST.get("to", "")
    if to in SELECTION_PAGES and filters.ids:
        return SeeOther(SELECTION_PAGES[to], query=filters.selection_query())
    return SeeOther("inbox", query=str(filters))


def _past(
    request: PersonRequest, search: Search, inbox: sections.Inbox, *, at: datetime
) -> list[HistoryRow]:
    """Returns the newest results in the history that are not in the list, if the search is for
    words, an agent, a thread or a person. The other filters are only about waiting deliveries."""
    query = search.query
    if not (query.terms or query.agent or query.thread or query.by):
        return []
    rows, _ = reader_for(request)(lambda: history.page(search, at=at, before=None))
    return [past for past in rows if past.row.delivery.pk not in inbox.ids][:MAX_PAST]


def _empty_inbox(
    search: Search, inbox: sections.Inbox, user: User, *, at: datetime
) -> dict[str, Any]:
    """Returns the summary of the day for an empty inbox, or the first steps of a new one. A person
    without a team also sees where their teams have moved."""
    if not inbox.is_clear or search.query.narrows or search.query.is_test:
        return {}
    summary = daily_summary.daily_summary(search.viewer, at=at)
    if not search.viewer.team_ids:
        return {"daily_summary": summary, "moves": moves_of(user)}
    if summary.has_begun:
        return {"daily_summary": summary}
    return {"daily_summary": summary, "first_run": welcome.first_run(search.viewer, at=at)}
