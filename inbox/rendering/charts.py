"""Reads chart blocks, and draws them as attributes of an SVG, because the content policy forbids
inline styles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.rendering.blocks import cut, others
from inbox.rendering.json_text import Number
from pages.characters.invisible import reveal_value

LINE, BAR = "line", "bar"
MAX_SERIES = 6
MAX_POINTS = 1_000  # of all series together
MIN_SIZE, MAX_SIZE = 1e-9, 1e15  # what a person can read on an axis, besides 0
LONGEST_NUMBER = 40

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 14, 28
TICKS = 4
MAX_LABELS = 8
LONGEST_LABEL = 14
MAX_DOTS = 40
GAP = 0.2  # the share of the space that is left free between groups of bars

SVG = (
    '<svg class="chart" viewBox="0 0 640 240" direction="ltr" role="img" aria-label="{}">'
    "{}{}{}</svg>"
)
GRID = '<path class="chart__grid" d="M{} {}H{}"/><text x="{}" y="{}" text-anchor="end">{}</text>'
LABEL = '<text class="{}" x="{}" y="{}" text-anchor="middle">{}</text>'
UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k"))
LINE_SHAPE = (
    '<path class="chart__line chart__line--{0}" d="{1}"/>'
    '<path class="chart__bar chart__bar--{0}" d="{2}"/>'
)
BAR_SHAPE = '<path class="chart__bar chart__bar--{}" d="{}"/>'
KEY = '<li class="chart__key chart__key--{}"><bdi dir="auto">{}</bdi></li>'
LEGEND = '<ul class="chart__legend">{}</ul>'


@dataclass(frozen=True, slots=True)
class Series:
    """Holds the values of one line, or of one colour of bars. None stands for a gap."""

    name: str
    numbers: list[Number | None]

    @property
    def values(self) -> list[float | None]:
        return [None if number is None else float(number.text) for number in self.numbers]


@dataclass(frozen=True, slots=True)
class Chart:
    """Holds a chart. Each series has one value for each label."""

    kind: str
    labels: list[str]
    series: list[Series]
    unit: str
    others: dict[str, Any]  # members that neither the drawing nor the table shows

    @property
    def points(self) -> int:
        return len(self.labels) * len(self.series)

    @property
    def columns(self) -> list[str]:
        """Returns the head of the table with the same figures."""
        return [self.unit, *(series.name for series in self.series)]

    @property
    def rows(self) -> list[list[Any]]:
        return [
            [label, *(series.numbers[place] for series in self.series)]
            for place, label in enumerate(self.labels)
        ]


def chart_of(block: Any) -> Chart | None:
    """Returns the chart of a block. Returns None if the chart is malformed, too large, or has
    numbers that an axis cannot show."""
    match block:
        case {
            "type": "chart",
            "kind": "line" | "bar" as kind,
            "labels": list(entries),
            "series": list(lists),
        } if 0 < len(lists) <= MAX_SERIES and 0 < len(entries) * len(lists) <= MAX_POINTS:
            labels = [_label(entry) for entry in entries]
            series = [_series(entry, len(labels)) for entry in lists]
        case _:
            return None
    complete = [one for one in series if one is not None]
    if len(complete) < len(series) or any(label is None for label in labels):
        return None
    unit = block.get("unit")
    names = [label for label in labels if label is not None]
    return Chart(kind, names, complete, unit if isinstance(unit, str) else "", _others(block))


def _others(block: dict[str, Any]) -> dict[str, Any]:
    unit = ["unit"] if isinstance(block.get("unit"), str) else []
    members = others(block, "kind", "labels", "series", *unit)
    series = [
        {"name": entry["name"], **rest}
        for entry in block["series"]
        if (rest := {name: one for name, one in entry.items() if name not in {"name", "values"}})
    ]
    return {**members, "series": series} if series else members


def drawn(chart: Chart, *, description: str = "") -> SafeString:
    """Returns the SVG, and a legend if there are several series. The description is for people who
    do not see the drawing."""
    scale = _Scale.of(chart)
    shape = _bars if chart.kind == BAR else _lines
    svg = format_html(
        SVG,
        description or _description(chart),
        format_html_join("", GRID, _grid(scale)),
        shape(chart, scale),
        format_html_join("", LABEL, _labels(chart)),
    )
    if len(chart.series) == 1:
        return svg
    keys = ((place, reveal_value(series.name)) for place, series in enumerate(chart.series, 1))
    return svg + format_html(LEGEND, format_html_join("", KEY, keys))


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values to heights, between two round numbers."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, chart: Chart) -> _Scale:
        values = [value for series in chart.series for value in series.values if value is not None]
        low, high = min(values, default=0.0), max(values, default=0.0)
        if chart.kind == BAR or 0 < low < (high - low):
            low, high = min(low, 0.0), max(high, 0.0)
        step = _round_step((high - low) or abs(high) or 1.0)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        # If the difference of the numbers is too small for a float, the numbers are drawn as one
        # line in the middle.
        return cls(low, high if high > low else low + (abs(low) or 1.0), step)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + place * self.step for place in range(min(count, 3 * TICKS) + 1)]


def _round_step(span: float) -> float:
    """Returns 1, 2 or 5 times a power of ten, so that the axis has about four steps."""
    power: float = 10.0 ** math.floor(math.log10(span / TICKS))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * TICKS >= span)


def _grid(scale: _Scale) -> Iterator[tuple[Any, ...]]:
    for tick in scale.ticks:
        y = scale.y(tick)
        yield (LEFT, _figure(y), WIDTH - RIGHT, LEFT - 8, _figure(y + 4), _tick(tick))


def _tick(value: float) -> str:
    """Returns `1,500`, `25k` or `1.2M`, which fits beside the axis."""
    size, letter = next((unit for unit in UNITS if abs(value) >= unit[0]), (1, ""))
    return f"{value / size:,.5g}{letter}"


def _labels(chart: Chart) -> Iterator[tuple[Any, ...]]:
    """Yields at most eight labels, evenly spread. The table beside the chart has all labels."""
    every = math.ceil(len(chart.labels) / MAX_LABELS)
    for place, label in enumerate(chart.labels):
        if place % every == 0:
            short = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
            other = "chart__other" if place // every % 2 else ""
            yield (other, _figure(_x(chart, place)), HEIGHT - 8, reveal_value(short))


def _lines(chart: Chart, scale: _Scale) -> SafeString:
    return format_html_join(
        "",
        LINE_SHAPE,
        ((place, *_line(chart, series, scale)) for place, series in enumerate(chart.series, 1)),
    )


def _line(chart: Chart, series: Series, scale: _Scale) -> tuple[str, str]:
    """Returns the path of the line, with a break at each gap, and the path of its dots. If there
    are few values, each value has a dot. Otherwise only values between two gaps have a dot."""
    points = [
        None if value is None else f"{_figure(_x(chart, place))} {_figure(scale.y(value))}"
        for place, value in enumerate(series.values)
    ]
    runs = [list(run) for has_value, run in groupby(points, bool) if has_value]
    path = "".join(f"M{'L'.join(filter(None, run))}" for run in runs)
    has_dots = len(points) <= MAX_DOTS
    dots = [
        point for run in runs if has_dots or len(run) == 1 for point in run if point is not None
    ]
    return path, "".join(f"M{point}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0" for point in dots)


def _bars(chart: Chart, scale: _Scale) -> SafeString:
    return format_html_join(
        "",
        BAR_SHAPE,
        ((place + 1, _bar_path(chart, place, scale)) for place in range(len(chart.series))),
    )


def _bar_path(chart: Chart, place: int, scale: _Scale) -> str:
    group = _step(chart) * (1 - GAP)
    width = group / len(chart.series)
    bottom = scale.y(0)
    path = []
    for number, value in enumerate(chart.series[place].values):
        if value is not None:
            x = _x(chart, number) - group / 2 + place * width
            height = bottom - scale.y(value)
            path.append(
                f"M{_figure(x)} {_figure(bottom)}v{_figure(-height)}h{_figure(width)}"
                f"v{_figure(height)}z"
            )
    return "".join(path)


def _step(chart: Chart) -> float:
    return (WIDTH - LEFT - RIGHT) / len(chart.labels)


def _x(chart: Chart, place: int) -> float:
    return LEFT + (place + 0.5) * _step(chart)


def _figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _description(chart: Chart) -> str:
    names = reveal_value(cut(", ".join(series.name for series in chart.series)))
    kind = "Bar chart" if chart.kind == BAR else "Line chart"
    count = len(chart.labels)
    return f"{kind}: {names}. {count} values each; the table below has them."


def _label(entry: Any) -> str | None:
    return str(entry) if isinstance(entry, str | Number) else None


def _series(entry: Any, count: int) -> Series | None:
    match entry:
        case {"name": str(name), "values": list(values)} if name.strip() and len(values) == count:
            return Series(name, values) if all(map(_is_value, values)) else None
    return None


def _is_value(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, Number) or len(value.text) > LONGEST_NUMBER:
        return False
    size = abs(float(value.text))
    return size == 0 or MIN_SIZE <= size <= MAX_SIZE
