"""Computes the bars of a small SVG chart; the template draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 80
GAPS = 5  # the gap is a fifth of the distance of two bars
LEAST = 2  # the height at which a value above zero is still visible


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    y: int
    width: int
    height: int


def bars(values: Sequence[int]) -> list[Bar]:
    """Returns one bar for each value. The bar of the greatest value fills the height."""
    most = max(values, default=0)
    count = max(len(values), 1)
    step = WIDTH // count
    gap = max(step // GAPS, 1)
    heights = [max(LEAST, value * HEIGHT // most) if value else 0 for value in values]
    return [
        Bar(number * WIDTH // count + gap // 2, HEIGHT - height, step - gap, height)
        for number, height in enumerate(heights)
    ]
