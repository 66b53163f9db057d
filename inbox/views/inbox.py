"""The inbox: what waits, in four sections, and what was answered a moment ago."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox import got_it, leaving, pulse, sections, switch, today, welcome
from inbox.fates import fate, just_answered
from inbox.ids import uuid_or_none
from inbox.places import Place
from inbox.query_language import read_form
from inbox.search import Search
from inbox.slices import Cursor
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, SeeOther, page

CONTROLS = ("team", "agent", "type", "window")


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
    query = search.query
    before = Cursor.read(request.GET.get("before", ""))
    back = leaving.back_at_work(request.user, at=now)
    found = sections.inbox(search, at=now, back=back, before=before)
    place = Place.of(request.GET)
    context = {
        "here": "inbox",
        "now": now,
        "viewer": viewer,
        "asked": query,
        "form": query.as_form(CONTROLS),
        "tabs": switch.tabs(viewer, query.team, q=query.as_form([switch.TEAM])["q"]),
        "titles": sections.TITLES,
        "inbox": found,
        "headline": sections.headline(found.sections),
        "until_back": leaving.until_when(back, at=now),
        "is_later_page": before is not None,
        "in_team": query.team,
        "place": place,
        "elsewhere": place.away(found.ids),
        "got_it": got_it.remembered(request.session, by=request.user, at=now),
        "since": pulse.mark(now),
        **_beside(viewer, search, found, request.GET.get("answered", ""), at=now),
    }
    return render(request, "inbox/inbox.html", context)


def _beside(
    viewer: Viewer, search: Search, found: sections.Inbox, answered: str, *, at: datetime
) -> dict[str, Any]:
    """What a clear inbox says of today, or of how to begin, and what was just answered, in any
    team."""
    beside: dict[str, Any] = {}
    if found.is_clear and not search.query.narrows and not search.query.is_test:
        beside["today"] = today.today(search.viewer, at=at)
        if not beside["today"].has_begun and viewer.team_ids:
            beside["first_run"] = welcome.first_run(search.viewer, at=at)
            if search.viewer == viewer:  # in no other team either
                return beside
    responses = just_answered(viewer, also=uuid_or_none(answered))
    beside["answered"] = [(response, fate(response, viewer, at=at)) for response in responses]
    return beside
