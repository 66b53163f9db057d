"""Exports an agent's statistics: CSV for a spreadsheet, JSON for a program."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

from django.utils import timezone

from accounts.models import Agent
from inbox.audit.export import cell
from inbox.statistics.approval_use import ApprovalUse, UseCounts
from inbox.statistics.figures import FIGURES, Day
from inbox.statistics.statistics import Period, Statistics

COLUMNS = ["agent", "period", "from", "until", "figure", "value"]


def as_csv(agent: Agent, statistics: Statistics, use: ApprovalUse) -> str:
    """Returns one figure on each line: for the period, for the period before, and for each day."""
    buffer = StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for row in _rows(statistics, use):
        writer.writerow(["" if value is None else cell(str(value)) for value in (agent, *row)])
    return buffer.getvalue()


def as_json(agent: Agent, statistics: Statistics, use: ApprovalUse) -> str:
    """Returns the same figures, with the counts of each type and of each answer as objects."""
    export = {
        "agent": agent.agent_id,
        "agent_uuid": str(agent.pk),
        "time_zone": timezone.get_current_timezone_name(),
        "days": statistics.days,
        "now": _as_object(statistics.now, use.now),
        "before": _as_object(statistics.before, use.before),
        "by_day": [{"date": str(day.date), **_counts(day)} for day in statistics.by_day],
    }
    return json.dumps(export, ensure_ascii=False, indent=2) + "\n"


def _rows(statistics: Statistics, use: ApprovalUse) -> Iterator[tuple[Any, ...]]:
    periods = (("now", statistics.now, use.now), ("before", statistics.before, use.before))
    for name, period, counts in periods:
        for figure, value in _flat(_figures(period, counts)):
            yield name, _local(period.start), _local(period.end), figure, value
    for day in statistics.by_day:
        for figure, value in _counts(day).items():
            yield "day", day.date, day.date, figure, value


def _as_object(period: Period, use: UseCounts) -> dict[str, Any]:
    return {"from": _local(period.start), "until": _local(period.end), **_figures(period, use)}


def _figures(period: Period, use: UseCounts) -> dict[str, Any]:
    return {
        "delivered": {str(name): count for name, count in period.delivered.items()},
        "answered": {str(name): count for name, count in period.answered.items()},
        "half_answered_within_seconds": _seconds(period.half),
        "nine_in_ten_answered_within_seconds": _seconds(period.most),
        "windows_ended": period.windows,
        "windows_missed": period.missed,
        "answered_without_opening": period.unopened,
        "edits": period.edits,
        "edits_compared": period.compared,
        "half_of_edits_changed_up_to_percent": period.changed,
        "redirects_erased": period.gone,
        "answered_by_rules": period.by_rules,
        "approvals_used": use.used,
        "approvals_failed": use.failed,
        "approvals_never_used": use.unused,
    }


def _flat(figures: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from ((f"{name}_{kind}", count) for kind, count in value.items())
        else:
            yield name, value


def _counts(day: Day) -> dict[str, int]:
    return {name: getattr(day, name) for name in FIGURES}


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _local(at: Any) -> str:
    return timezone.localtime(at).isoformat(timespec="seconds")
