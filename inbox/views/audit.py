"""The audit of the person's teams: to be read by all of them, and taken along by owners."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox import audit_export, audit_log, switch
from inbox.audit_heads import heads, seal_of
from inbox.audit_lines import lines_of
from inbox.audit_words import EVENTS
from inbox.teams import people_of
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, page
from inbox.views.streaming import streamed

KEPT = ("actor", "event", "from", "to")  # an agent is in one team
OWNERS_ONLY = "Only owners of a team take its audit along as a file"


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    everywhere = Viewer.of(request.user)
    viewer = switch.chosen(everywhere, request.GET)
    asked = audit_log.read(request.GET)
    before = audit_log.EventCursor.read(request.GET.get("before", ""))
    found = audit_log.page(viewer.team_ids, asked, before=before)
    context = {
        "here": "audit",
        "now": timezone.now(),
        "in_team": switch.slug_of(request.GET),
        "tabs": switch.tabs(everywhere, switch.slug_of(request.GET), **_kept(request)),
        "asked": asked,
        "asked_again": _query(request),
        "lines": lines_of(found.events, viewer),
        "found": found,
        "events": {name: title for name, (title, _) in EVENTS.items()},
        "actors": audit_log.actors(people_of(viewer.team_ids)),
        "agents": audit_log.agents(viewer.team_ids),
        "is_later_page": before is not None,
        "heads": heads(viewer),
        "may_export": bool(viewer.owned_team_ids),
    }
    return render(request, "inbox/audit.html", context)


@require_safe
@page
def event(request: PersonRequest, pk: int) -> HttpResponse:
    """Not theirs and not there are the same 404."""
    viewer = Viewer.of(request.user)
    found = get_object_or_404(audit_log.of_teams(viewer.team_ids), pk=pk)
    context = {
        "here": "audit",
        "now": timezone.now(),
        "line": lines_of([found], viewer)[0],
        "event": found,
        "seal": seal_of(found.pk),
        "detail": json.dumps(found.detail, indent=2, ensure_ascii=False),
    }
    return render(request, "inbox/audit_event.html", context)


@require_safe
@page
def head(request: PersonRequest) -> JsonResponse:
    """Where the chains end of the teams that they own."""
    viewer = Viewer.of(request.user)
    if not viewer.owned_team_ids:
        raise PermissionDenied(OWNERS_ONLY)
    ends = [
        {
            "team": one.team.slug,
            "position": one.position,
            "hash": one.hash,
            "sealed_at": one.sealed_at,
        }
        for one in heads(viewer, owned=True)
    ]
    return JsonResponse({"heads": ends})


@require_safe
@page
def export_csv(request: PersonRequest) -> StreamingHttpResponse:
    return _export(request, audit_export.csv_lines, "csv", "text/csv; charset=utf-8")


@require_safe
@page
def export_jsonl(request: PersonRequest) -> StreamingHttpResponse:
    return _export(request, audit_export.json_lines, "jsonl", "application/jsonl; charset=utf-8")


def _export(
    request: PersonRequest, write: Callable[..., Iterator[str]], ending: str, content_type: str
) -> StreamingHttpResponse:
    viewer = switch.chosen(Viewer.of(request.user), request.GET)
    if not viewer.owned_team_ids:
        raise PermissionDenied(OWNERS_ONLY)
    asked = audit_log.read(request.GET)
    teams = {pk: viewer.memberships[pk].team.slug for pk in viewer.owned_team_ids}
    return streamed(
        request,
        lambda: write(audit_log.everything(list(teams), asked), teams),
        name=f"audit-{timezone.now():%Y-%m-%d}.{ending}",
        content_type=content_type,
    )


def _kept(request: PersonRequest) -> dict[str, str]:
    """Of the filter, in another team."""
    return {name: request.GET.get(name, "") for name in KEPT}


def _query(request: PersonRequest) -> str:
    """The filter that was asked for, as the beginning of another link's query."""
    asked: Any = request.GET.copy()
    asked.pop("before", None)
    return str(asked.urlencode())
