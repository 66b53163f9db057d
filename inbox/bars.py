"""A small bar chart as the attributes of an SVG: the strict policy of the pages knows no style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, STEP, GAP = 600, 80, 20, 4
LEAST = 2  # what is there can be seen


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    y: int
    height: int


def bars(values: Sequence[int]) -> list[Bar]:
    """One for each value, the greatest as high as the picture."""
    most = max(values, default=0)
    heights = [max(LEAST, value * HEIGHT // most) if value else 0 for value in values]
    return [
        Bar(x=number * STEP + GAP // 2, y=HEIGHT - height, height=height)
        for number, height in enumerate(heights)
    ]
