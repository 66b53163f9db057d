"""Shows an agent's statistics to its team, and exports them."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.access.objects import agents_of
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.models import Agent
from database.clock import database_now
from inbox.statistics import approval_use, export, sentences, statistics
from inbox.statistics.answer_charts import answer_charts
from inbox.statistics.approval_use import never_used
from pages.page import page
from pages.recent_writes import reader_for


@require_safe
@page
def agent_statistics(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = database_now()
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    viewer, days, read = Viewer.of(request.user), _days(request), reader_for(request)
    figures = read(lambda: statistics.statistics_of(agent, days=days, at=now))
    use = read(lambda: approval_use.approval_use(agent, days=days, at=now))
    is_owner = viewer.is_owner(agent.team_id)
    unused = read(lambda: never_used(agent, request.user, days=days, at=now)) if is_owner else []
    context = {
        "nav": "agents",
        "now": now,
        "agent": agent,
        "team": viewer.team_label(agent.team_id),
        "spans": statistics.SPANS,
        "statistics": figures,
        "sentences": sentences.sentences(figures),
        "lines": sentences.lines(figures) + sentences.lines_of_use(use),
        "comparison_title": f"Compared with the previous {figures.days} days",
        "charts": read(lambda: answer_charts(agent, days=figures.days, at=now)),
        "use": use,
        "unused": unused,
    }
    return render(request, "inbox/statistics/statistics.html", context)


@require_safe
@page
def export_csv(request: PersonRequest, pk: UUID) -> HttpResponse:
    return _export(request, pk, export.as_csv, "csv", "text/csv; charset=utf-8")


@require_safe
@page
def export_json(request: PersonRequest, pk: UUID) -> HttpResponse:
    return _export(request, pk, export.as_json, "json", "application/json")


def _export(
    request: PersonRequest,
    pk: UUID,
    write: Callable[[Agent, statistics.Statistics, approval_use.ApprovalUse], str],
    ending: str,
    content_type: str,
) -> HttpResponse:
    now = database_now()
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    days, read = _days(request), reader_for(request)
    figures = read(lambda: statistics.statistics_of(agent, days=days, at=now))
    use = read(lambda: approval_use.approval_use(agent, days=days, at=now))
    name = f"record-{agent.pk}-{timezone.localdate(now)}-{figures.days}-days.{ending}"
    return HttpResponse(
        write(agent, figures, use),
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _days(request: PersonRequest) -> int:
    return statistics.days_asked_for(request.GET.get("days", ""))
