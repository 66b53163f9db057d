"""Shows the audit of the person's teams; owners export it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access import team_filter
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from database.clock import database_now
from inbox.audit import events as audit_events
from inbox.audit import export
from inbox.audit.chain_tips import chain_entry_of, chain_tips
from inbox.audit.folding import days_of
from inbox.audit.lines import lines_of
from inbox.audit.sentences import EVENTS
from inbox.audit.streaming import streamed
from inbox.people.teams.teams import people_of
from pages.page import page

FILTER_PARAMETERS = ("actor", "event", "from", "to")  # an agent is in one team
EXPORT_REFUSED = "Only team owners can export the audit log"


@require_safe
@page
def audit_list(request: PersonRequest) -> HttpResponse:
    whole_viewer = Viewer.of(request.user)
    viewer = team_filter.chosen(whole_viewer, request.GET)
    filters = audit_events.read(request.GET)
    before = audit_events.EventCursor.read(request.GET.get("before", ""))
    events_page = audit_events.page(viewer.team_ids, filters, before=before)
    now, lines = database_now(), lines_of(events_page.events, viewer)
    context = {
        "nav": "audit",
        "now": now,
        "team_slug": team_filter.slug_of(request.GET),
        "tabs": team_filter.tabs(
            whole_viewer, team_filter.slug_of(request.GET), **_filter_of_tabs(request)
        ),
        "filter": filters,
        "filter_query": _query(request),
        "lines": lines,
        "days": days_of(lines, now=now),
        "events_page": events_page,
        "events": {name: title for name, (title, _, _) in EVENTS.items()},
        "actors": audit_events.actors(people_of(viewer.team_ids)),
        "agents": audit_events.agents(viewer.team_ids),
        "is_later_page": before is not None,
        "tips": chain_tips(viewer),
        "may_export": bool(viewer.owned_team_ids),
    }
    return render(request, "inbox/audit/audit.html", context)


@require_safe
@page
def audit_event(request: PersonRequest, pk: int) -> HttpResponse:
    """Shows one event; raises Http404 for an event of a team that is not theirs."""
    viewer = Viewer.of(request.user)
    event = get_object_or_404(audit_events.of_teams(viewer.team_ids), pk=pk)
    context = {
        "nav": "audit",
        "now": database_now(),
        "line": lines_of([event], viewer)[0],
        "event": event,
        "entry": chain_entry_of(event.pk),
        "detail": json.dumps(event.detail, indent=2, ensure_ascii=False),
    }
    return render(request, "inbox/audit/event.html", context)


@require_safe
@page
def chain_tips_json(request: PersonRequest) -> JsonResponse:
    """Returns the chain tips of the teams that the person owns."""
    viewer = Viewer.of(request.user)
    if not viewer.owned_team_ids:
        raise PermissionDenied(EXPORT_REFUSED)
    ends = [
        {
            "team": tip.team.slug,
            "position": tip.position,
            "hash": tip.hash,
            "sealed_at": tip.appended_at,
        }
        for tip in chain_tips(viewer, owned=True)
    ]
    return JsonResponse({"heads": ends})


@require_safe
@page
def export_csv(request: PersonRequest) -> StreamingHttpResponse:
    return _export(request, export.csv_lines, "csv", "text/csv; charset=utf-8")


@require_safe
@page
def export_jsonl(request: PersonRequest) -> StreamingHttpResponse:
    return _export(request, export.json_lines, "jsonl", "application/jsonl; charset=utf-8")


def _export(
    request: PersonRequest, write: Callable[..., Iterator[str]], ending: str, content_type: str
) -> StreamingHttpResponse:
    viewer = team_filter.chosen(Viewer.of(request.user), request.GET)
    if not viewer.owned_team_ids:
        raise PermissionDenied(EXPORT_REFUSED)
    filters = audit_events.read(request.GET)
    teams = {pk: viewer.memberships[pk].team.slug for pk in viewer.owned_team_ids}
    return streamed(
        request,
        lambda: write(audit_events.all_events(list(teams), filters), teams),
        name=f"audit-{database_now():%Y-%m-%d}.{ending}",
        content_type=content_type,
    )


def _filter_of_tabs(request: PersonRequest) -> dict[str, str]:
    """Returns the filter that the tabs of other teams keep."""
    return {name: request.GET.get(name, "") for name in FILTER_PARAMETERS}


def _query(request: PersonRequest) -> str:
    """Returns the current filter as the beginning of another link's query."""
    query: Any = request.GET.copy()
    query.pop("before", None)
    return str(query.urlencode())
