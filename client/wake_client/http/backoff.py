"""Decides how long to wait before the next try."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST_SECONDS, MAX_SECONDS = 1.0, 30.0


def pauses() -> Iterator[float]:
    """Yields pauses in seconds without end, each random between 0 and 1, 2, 4 ... 30.

    This is "full jitter": clients that lost the same server do not all come back at the same time.
    """
    longest = FIRST_SECONDS
    while True:
        yield random.uniform(0, longest)  # noqa: S311 - not a secret
        longest = min(longest * 2, MAX_SECONDS)


def at_least(seconds: float) -> float:
    """Adds up to a tenth, at random, to the pause that the server asked for, so that the server's
    clients do not all come back at the same time."""
    return seconds + random.uniform(0, max(seconds * 0.1, 0.5))  # noqa: S311 - not a secret
