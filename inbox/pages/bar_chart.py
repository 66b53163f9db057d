"""A small bar chart as the attributes of an SVG: the strict policy of the pages knows no style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 80
GAPS = 5  # of what a bar takes, the gap is a fifth
LEAST = 2  # what is there can be seen


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    y: int
    width: int
    height: int


def bars(values: Sequence[int]) -> list[Bar]:
    """One for each value, the greatest as high as the picture."""
    most = max(values, default=0)
    count = max(len(values), 1)
    step = WIDTH // count
    gap = max(step // GAPS, 1)
    heights = [max(LEAST, value * HEIGHT // most) if value else 0 for value in values]
    return [
        Bar(number * WIDTH // count + gap // 2, HEIGHT - height, step - gap, height)
        for number, height in enumerate(heights)
    ]
