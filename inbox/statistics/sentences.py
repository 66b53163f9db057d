"""Writes an agent's statistics as sentences and as lines of a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from inbox.reading.status_words import STATUS_LABELS
from inbox.statistics.approval_use import LABELS, ApprovalUse
from inbox.statistics.statistics import Period, Statistics
from pages.times import amount
from wake.models import Delivery, Response


@dataclass(frozen=True, slots=True)
class TableLine:
    """Shows one line of the table. A line with `is_part` belongs to the line above it."""

    name: str
    now: str
    before: str
    is_part: bool = False


def sentences(statistics: Statistics) -> list[str]:
    """Returns sentences such as `Median response time: 12 min, was 40 min.` Leaves out figures for
    which there is no data."""
    now, before = statistics.now, statistics.before
    parts = []
    if now.half is not None:
        was = f", was {amount(before.half)}" if before.half is not None else ""
        parts.append(f"Median response time: {amount(now.half)}{was}.")
    if now.windows:
        was = f", was {_of(before.missed, before.windows)}" if before.windows else ""
        parts.append(f"Missed deadlines: {_of(now.missed, now.windows)}{was}.")
    if now.by_people:
        was = f", was {_unopened(before)}" if before.by_people else ""
        parts.append(f"Answered without opening: {_unopened(now)}{was}.")
    return parts


def lines(statistics: Statistics) -> list[TableLine]:
    now, before = statistics.now, statistics.before
    return [
        TableLine("Deliveries", str(now.deliveries), str(before.deliveries)),
        *(
            TableLine(
                f"{kind.label}s",
                str(now.delivered[kind]),
                str(before.delivered[kind]),
                is_part=True,
            )
            for kind in Delivery.Type
        ),
        TableLine("Answers", str(now.answers), str(before.answers)),
        *([_by_rules(now, before)] if now.by_rules or before.by_rules else []),
        *(
            TableLine(
                STATUS_LABELS[kind],
                str(now.answered[kind]),
                str(before.answered[kind]),
                is_part=True,
            )
            for kind in Response.Status
        ),
        TableLine("Median response time", _span(now.half), _span(before.half)),
        TableLine("90th percentile", _span(now.most), _span(before.most)),
        TableLine("Missed deadlines", _missed(now), _missed(before)),
        TableLine("Answered without opening", _unopened(now), _unopened(before)),
        TableLine("Size of edits", _edits(now), _edits(before)),
    ]


def lines_of_use(use: ApprovalUse) -> list[TableLine]:
    """Returns the lines about approvals, or an empty list for an agent without approvals."""
    if use.is_empty:
        return []
    return [
        TableLine("Approvals and their use", str(use.now.total), str(use.before.total)),
        *(
            TableLine(
                title, str(getattr(use.now, kind)), str(getattr(use.before, kind)), is_part=True
            )
            for kind, title in LABELS.items()
        ),
    ]


def _span(span: timedelta | None) -> str:
    return "no answers" if span is None else amount(span)


def _of(count: int, all: int) -> str:
    return f"{count} of {all}"


def _missed(period: Period) -> str:
    return _of(period.missed, period.windows) if period.windows else "no deadlines"


def _by_rules(now: Period, before: Period) -> TableLine:
    return TableLine("Given by rules", str(now.by_rules), str(before.by_rules))


def _unopened(period: Period) -> str:
    return _of(period.unopened, period.by_people) if period.by_people else "no answers"


def _edits(period: Period) -> str:
    parts = []
    if period.changed is not None:
        parts.append(f"median change: {period.changed} % of the text")
        if period.compared < period.edits:
            parts.append(f"{period.compared} of {period.edits} compared")
    elif period.edits:
        parts.append(f"{period.edits}, not comparable")
    if period.gone:
        edits = "edit" if period.gone == 1 else "edits"
        parts.append(f"{period.gone} {edits} erased")
    return "; ".join(parts) or "no edits"
