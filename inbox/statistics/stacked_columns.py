"""Computes the columns of an SVG chart with one column a day; the template draws them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from inbox.statistics.bar_chart import HEIGHT, LEAST, WIDTH


@dataclass(frozen=True, slots=True)
class Segment:
    """Describes one part of a column. `kind` names the answers that the part counts."""

    kind: str
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Column:
    """Holds the counts of one day, stacked from the bottom. `words` is `2 approved, 1 rejected`."""

    date: date
    x: int
    width: int
    counts: Mapping[str, int]
    segments: list[Segment]
    words: str


def columns(
    by_day: Mapping[date, Mapping[str, int]], labels: Mapping[str, str], *, nothing: str
) -> list[Column]:
    """Returns a column for each day; the greatest fills the height. The kinds of `labels` are
    stacked in their order. `nothing` is the text of a day without any."""
    most = max((sum(counts.values()) for counts in by_day.values()), default=0)
    step = WIDTH / len(by_day)
    gap = max(1, round(step / 5))
    return [
        Column(
            day,
            x=round(number * step) + gap // 2,
            width=max(1, round(step) - gap),
            counts=counts,
            segments=_segments(counts, labels, most),
            words=_words(counts, labels) or nothing,
        )
        for number, (day, counts) in enumerate(by_day.items())
    ]


def _segments(counts: Mapping[str, int], labels: Mapping[str, str], most: int) -> list[Segment]:
    segments, top = [], HEIGHT
    for kind in labels:
        if counts[kind]:
            height = max(LEAST, counts[kind] * HEIGHT // most)
            top = max(0, top - height)
            segments.append(Segment(kind, top, height))
    return segments


def _words(counts: Mapping[str, int], labels: Mapping[str, str]) -> str:
    parts = [f"{counts[kind]} {labels[kind].lower()}" for kind in labels if counts[kind]]
    return ", ".join(parts)
