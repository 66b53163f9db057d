"""The record of an agent, to be read by everybody in its team and taken along."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.access import agents_of
from accounts.models import Agent
from inbox import record, record_export, record_lines
from inbox.bars import bars
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, page


@require_safe
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = timezone.now()
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    found = record.record(agent, days=_days(request), at=now)
    context = {
        "here": "agents",
        "now": now,
        "agent": agent,
        "team": Viewer.of(request.user).team_label(agent.team_id),
        "spans": record.SPANS,
        "found": found,
        "sentences": record_lines.sentences(found),
        "lines": record_lines.lines(found),
        "bars": zip(found.by_day, bars([day.delivered for day in found.by_day]), strict=True),
        "busiest": max(day.delivered for day in found.by_day),
    }
    return render(request, "inbox/record.html", context)


@require_safe
@page
def export_csv(request: PersonRequest, pk: UUID) -> HttpResponse:
    return _export(request, pk, record_export.as_csv, "csv", "text/csv; charset=utf-8")


@require_safe
@page
def export_json(request: PersonRequest, pk: UUID) -> HttpResponse:
    return _export(request, pk, record_export.as_json, "json", "application/json")


def _export(
    request: PersonRequest,
    pk: UUID,
    write: Callable[[Agent, record.Record], str],
    ending: str,
    content_type: str,
) -> HttpResponse:
    now = timezone.now()
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    found = record.record(agent, days=_days(request), at=now)
    name = f"record-{agent.pk}-{timezone.localdate(now)}-{found.days}-days.{ending}"
    return HttpResponse(
        write(agent, found),
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _days(request: PersonRequest) -> int:
    return record.asked_for(request.GET.get("days", ""))
