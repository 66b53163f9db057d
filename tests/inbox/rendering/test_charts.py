"""The server draws charts of all numbers that an axis can show. A chart with other numbers stays
JSON."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from inbox.rendering.details import render


def html(*blocks: Any, raw: str = "") -> str:
    text = raw or json.dumps({"wake_blocks": 1, "blocks": list(blocks)})
    details = render(text)
    assert details is not None
    return details.html


def chart(*values: Any, kind: str = "line", **more: Any) -> dict[str, Any]:
    labels = [f"day {number}" for number in range(len(values))]
    series = [{"name": "Visits", "values": list(values)}]
    return {"type": "chart", "kind": kind, "labels": labels, "series": series, **more}


def numbers_of(page: str) -> list[float]:
    svg = page.partition("<svg")[2].partition("</svg>")[0]
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?![\w,])", svg)]


@pytest.mark.parametrize(("kind", "words"), [("line", "Line chart"), ("bar", "Bar chart")])
def test_a_chart_has_a_description_and_a_table(kind: str, words: str) -> None:
    page = html(chart(3, 1.5, None, -2, kind=kind, title="Last week", unit="visits"))

    assert f'role="img" aria-label="{words}: Visits. 4 values each' in page
    assert f'class="chart__{kind} chart__{kind}--1"' in page
    assert '<h3 dir="auto">Last week</h3>' in page
    assert "1.5<" in page.partition("<table>")[2]
    assert page.count("<tr>") == 5
    assert "NaN" not in page
    assert "style" not in page


def test_two_series_have_a_legend() -> None:
    both = chart(1, 2)
    both["series"].append({"name": "Sales", "values": [2, 1]})

    assert "chart__legend" not in html(chart(1, 2))
    assert page_has(html(both), 'chart__key--1"><bdi dir="auto">Visits', 'chart__key--2"')


def page_has(page: str, *parts: str) -> bool:
    return all(part in page for part in parts)


@pytest.mark.parametrize("kind", ["line", "bar"])
@pytest.mark.parametrize(
    "values",
    [
        [0],
        [5, 5, 5],
        [0, 0],
        [None, None],
        [None, 3, None],
        [1e15, -1e15],
        [1e-9, 2e-9],
        [1, 1.0000000000000002],
        [1e15, 1e15 - 0.25],
        [-1, -2],
        [1_000_000, 1_000_001],
        list(range(1_000)),
    ],
    ids=str,
)
def test_any_numbers_stay_inside_the_drawing(kind: str, values: list[Any]) -> None:
    page = html(chart(*values, kind=kind))

    assert "<svg" in page
    assert "nan" not in page.partition("<table>")[0].lower()
    assert "inf" not in page.partition("<table>")[0].lower()
    assert all(abs(number) <= 1e15 for number in numbers_of(page))


@pytest.mark.parametrize(
    "block",
    [
        chart(),
        chart("1"),
        chart(True),
        chart([1]),
        chart(1e16),
        chart(1e-10),
        chart(10**60),
        chart(1, 2, kind="pie"),
        chart(1, 2, labels=["one"]),
        chart(1, 2, labels=["one", None]),
        chart(1, 2, labels="ab"),
        chart(1, 2, series=[]),
        chart(1, 2, series=[{"name": "", "values": [1, 2]}]),
        chart(1, 2, series=[{"name": "a", "values": [1, 2]}] * 7),
        chart(1, 2, series={"name": "a", "values": [1, 2]}),
        chart(1, 2, series=[{"name": "a", "values": [1]}]),
        chart(*range(1_001)),
    ],
    ids=lambda block: str(block)[:60],
)
def test_what_cannot_be_drawn_is_shown_as_json(block: Any) -> None:
    page = html(block)

    assert "<svg" not in page
    assert "displayed as intended" in page


def test_numbers_beyond_floats_are_shown_as_json() -> None:
    raw = json.dumps({"wake_blocks": 1, "blocks": [chart(7)]}).replace("[7]", "[1e999]")

    assert "<svg" not in html(raw=raw)


@pytest.mark.parametrize("blocks", [[chart(*range(10_000))], [chart(*range(1_000))] * 90])
def test_very_many_points_are_limited_in_time(blocks: list[Any]) -> None:
    began = time.process_time()

    page = html(*blocks)

    assert time.process_time() - began < 2
    assert page.count("<svg") <= 3


def test_hostile_names_are_words_and_only_the_axis_cuts_long_labels() -> None:
    nasty = '"><script>alert(1)</script>\u202e'
    block = chart(1, 2, labels=[nasty, "w" * 500], unit=nasty, title=nasty)
    block["series"].append({"name": nasty, "values": [1, 2]})

    page = html(block)

    assert "<script" not in page
    assert "\u202e" not in page
    assert "w" * 500 in page.partition("<table>")[2]
    assert "wwwwwwwwwwwww…</text>" in page
