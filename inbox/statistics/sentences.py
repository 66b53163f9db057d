"""The record of an agent in words: what changed in a sentence each, and figure beside figure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from inbox.moments import amount
from inbox.record import Period, Record
from wake.models import Delivery, Response


@dataclass(frozen=True, slots=True)
class Line:
    """`is_part` belongs to the line above it."""

    name: str
    now: str
    before: str
    is_part: bool = False


def sentences(record: Record) -> list[str]:
    """`Half of the answers came within 12 min, was 40 min.`; nothing about what did not happen."""
    now, before = record.now, record.before
    said = []
    if now.half is not None:
        was = f", was {amount(before.half)}" if before.half is not None else ""
        said.append(f"Half of the answers came within {amount(now.half)}{was}.")
    if now.windows:
        was = f", was {_of(before.missed, before.windows)}" if before.windows else ""
        said.append(f"Windows missed: {_of(now.missed, now.windows)}{was}.")
    if now.answers:
        was = f", was {_of(before.unopened, before.answers)}" if before.answers else ""
        said.append(f"Answered without opening: {_of(now.unopened, now.answers)}{was}.")
    return said


def lines(record: Record) -> list[Line]:
    now, before = record.now, record.before
    return [
        Line("Deliveries", str(now.deliveries), str(before.deliveries)),
        *(
            Line(
                f"{kind.label}s",
                str(now.delivered[kind]),
                str(before.delivered[kind]),
                is_part=True,
            )
            for kind in Delivery.Type
        ),
        Line("Answers", str(now.answers), str(before.answers)),
        *(
            Line(kind.label, str(now.answered[kind]), str(before.answered[kind]), is_part=True)
            for kind in Response.Status
        ),
        Line("Half of the answers came within", _span(now.half), _span(before.half)),
        Line("Nine in ten came within", _span(now.most), _span(before.most)),
        Line("Windows missed", _missed(now), _missed(before)),
        Line("Answered without opening", _unopened(now), _unopened(before)),
        Line("Size of edits", _edits(now), _edits(before)),
    ]


def _span(span: timedelta | None) -> str:
    return "no answers" if span is None else amount(span)


def _of(count: int, all: int) -> str:
    return f"{count} of {all}"


def _missed(period: Period) -> str:
    return _of(period.missed, period.windows) if period.windows else "no windows"


def _unopened(period: Period) -> str:
    return _of(period.unopened, period.answers) if period.answers else "no answers"


def _edits(period: Period) -> str:
    said = []
    if period.changed is not None:
        said.append(f"half changed up to {period.changed} % of the text")
        if period.compared < period.edits:
            said.append(f"{period.compared} of {period.edits} compared")
    elif period.edits:
        said.append(f"{period.edits}, none of which can be compared")
    if period.gone:
        redirects = "redirect" if period.gone == 1 else "redirects"
        said.append(f"{period.gone} {redirects} erased, what changed is gone")
    return "; ".join(said) or "no edits"
