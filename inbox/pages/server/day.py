"""Draws the last 24 hours of the server from the rows that a job keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils import timezone
from django.utils.safestring import SafeString

from inbox.rendering.charts import LINE, Chart, Series, drawn
from inbox.rendering.json_text import Number
from wake.models import ServerSample
from wake.server.metrics import samples

Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Drawing:
    title: str
    text: str
    svg: SafeString


@dataclass(frozen=True, slots=True)
class LastDay:
    """Holds the drawings, and a table of the same figures by hour, newest first. Both are empty
    until two rows follow each other."""

    drawings: list[Drawing]
    columns: list[str]
    hours: list[tuple[str, list[str]]]


def last_day(at: datetime) -> LastDay:
    """Makes one query, which returns at most 288 rows."""
    rows = {row.at: row for row in samples.last_24_hours(at)}
    if len(rows) < 2:
        return LastDay([], [], [])
    slots = list(_slots(min(rows), max(rows)))
    every = [rows.get(slot) for slot in slots]
    series: dict[str, Values] = {
        "Deliveries": _rises(every, "deliveries"),
        "Responses": _rises(every, "responses"),
        "Waiting for people": _values(every, "pending_deliveries"),
        "Callbacks": _values(every, "waiting_callbacks"),
        "Held back": _values(every, "suspended_callbacks"),
        "Seconds late": _values(every, "seconds_overdue"),
    }
    labels = [f"{timezone.localtime(slot):%H:%M}" for slot in slots]

    def drawing(title: str, text: str, *names: str) -> Drawing:
        lines = [Series(name, [_number(each) for each in series[name]]) for name in names]
        chart = Chart(LINE, labels, lines, "", {})
        description = f"{title}, from {labels[0]} to {labels[-1]}. The table below has the hours."
        return Drawing(title, text, drawn(chart, description=description))

    drawings = [
        drawing("Traffic", "In each five minutes.", "Deliveries", "Responses"),
        drawing("Deliveries that wait for people", "At that time.", "Waiting for people"),
        drawing("Callbacks that have not arrived", "At that time.", "Callbacks", "Held back"),
        drawing(
            "How late work was",
            "The oldest due work, in seconds.",
            "Seconds late",
        ),
    ]
    return LastDay(drawings, ["Hour", *series], _hours(slots, series))


def _slots(first: datetime, last: datetime) -> Iterable[datetime]:
    while first <= last:
        yield first
        first += samples.INTERVAL


def _values(rows: Sequence[ServerSample | None], name: str) -> Values:
    return [None if row is None else getattr(row, name) for row in rows]


def _rises(rows: Sequence[ServerSample | None], name: str) -> Values:
    """Returns what was counted since the row before. The first row, and a row after a gap, have no
    value, because the count may be that of hours."""
    totals = _values(rows, name)
    pairs = zip([None, *totals], totals, strict=False)
    return [None if old is None or new is None else max(new - old, 0) for old, new in pairs]


def _number(value: float | None) -> Number | None:
    return None if value is None else Number(f"{value:.10g}")


def _hours(slots: Sequence[datetime], series: dict[str, Values]) -> list[tuple[str, list[str]]]:
    """Adds up what happened in each hour, and takes the greatest of what waited."""
    hours = []
    places = groupby(range(len(slots)), lambda place: f"{timezone.localtime(slots[place]):%H:00}")
    for hour, group in places:
        inside = list(group)
        cells = []
        for name, values in series.items():
            present = [value for place in inside if (value := values[place]) is not None]
            put_together = sum if name in {"Deliveries", "Responses"} else max
            cells.append(f"{round(put_together(present)):,}" if present else "none")
        hours.append((hour, cells))
    return hours[::-1]
