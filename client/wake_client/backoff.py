"""How long to wait before trying again: longer each time, and never as one herd."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST, MOST = 1.0, 30.0


def pauses() -> Iterator[float]:
    """Seconds, without end: each by chance between nothing and 1, 2, 4 ... 30 ("full jitter")."""
    most = FIRST
    while True:
        yield random.uniform(0, most)  # noqa: S311 - not a secret
        most = min(most * 2, MOST)


def no_sooner_than(seconds: float) -> float:
    """As long as the server asked for and a little longer, differently for each who was told."""
    return seconds + random.uniform(0, max(seconds * 0.1, 0.5))  # noqa: S311 - not a secret
