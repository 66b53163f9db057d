"""Shows the audit of the person's teams; owners export it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access import team_filter
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.audit.sentences import EVENTS
from accounts.log.checkpoints import checkpoints
from accounts.teams.own_teams import people_of
from database.clock import database_now
from inbox.audit import events as audit_events
from inbox.audit import export
from inbox.audit.folding import days_of
from inbox.audit.lines import lines_of
from inbox.audit.log_places import chain_tips, log_head, places
from pages.page import page
from pages.recent_writes import reader_for
from pages.streaming import streamed

# The team is no parameter, because an agent is in one team.
FILTER_PARAMETERS = ("actor", "event", "from", "to")
EXPORT_REFUSED = "Only team owners can export the audit log"


@require_safe
@page
def audit_list(request: PersonRequest) -> HttpResponse:
    whole_viewer = Viewer.of(request.user)
    viewer = team_filter.chosen(whole_viewer, request.GET)
    filters = audit_events.read(request.GET)
    before = audit_events.EventCursor.read(request.GET.get("before", ""))
    read = reader_for(request)
    events_page = read(lambda: audit_events.page(viewer.team_ids, filters, before=before))
    now, lines = database_now(), read(lambda: lines_of(events_page.events, viewer))
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
        "events": dict(
            sorted(((name, words.title) for name, words in EVENTS.items()), key=itemgetter(1))
        ),
        "actors": audit_events.actors(people_of(viewer.team_ids)),
        "agents": audit_events.agents(viewer.team_ids),
        "is_later_page": before is not None,
        "log_head": log_head(),
        "checkpoint": checkpoints.newest(),
        "verifier_keys": checkpoints.verifier_keys(),
        "may_export": bool(viewer.owned_team_ids),
    }
    return render(request, "inbox/audit/audit.html", context)


@require_safe
@page
def audit_event(request: PersonRequest, pk: int) -> HttpResponse:
    """Shows one event; raises Http404 for an event of another team."""
    viewer = Viewer.of(request.user)
    event = get_object_or_404(audit_events.of_teams(viewer.team_ids), pk=pk)
    context = {
        "nav": "audit",
        "now": database_now(),
        "line": lines_of([event], viewer)[0],
        "event": event,
        "place": places([event.pk]).get(event.pk),
        "detail": json.dumps(event.detail, indent=2, ensure_ascii=False),
    }
    return render(request, "inbox/audit/event.html", context)


@require_safe
@page
def log_head_json(request: PersonRequest) -> JsonResponse:
    """Returns the head of the log, and the tips of the chains that the teams of an owner had in
    version 0.2."""
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
        for tip in chain_tips(viewer)
    ]
    head = log_head()
    log = {"size": head.size, "root": head.root, "appended_at": head.appended_at} if head else None
    return JsonResponse({"heads": ends, "log": log})


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
    filters, read = audit_events.read(request.GET), reader_for(request)
    teams = {pk: viewer.memberships[pk].team.slug for pk in viewer.owned_team_ids}
    return streamed(
        request,
        lambda: write(audit_events.all_events(list(teams), filters, read=read), teams, read=read),
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
