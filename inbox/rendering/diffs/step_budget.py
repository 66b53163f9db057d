"""Limits a comparison by steps instead of seconds, so that a busy machine shows the same page."""

from __future__ import annotations

from typing import Any

from diff_match_patch import diff_match_patch

STEPS = 150_000  # this many steps take about 80 ms


class StepBudget:
    """Counts the steps of one or several comparisons.

    diff-match-patch uses it as a deadline. Before each round of a search, the library evaluates
    `time.time() > deadline`, for which Python calls `deadline.__lt__`. Round n of a search takes n
    steps.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self.left = steps
        self.round = 0

    @property
    def is_spent(self) -> bool:
        return self.left < 0

    def begin_search(self) -> None:
        self.round = 0

    def __lt__(self, _now: float) -> bool:
        self.round += 1
        self.left -= self.round
        return self.is_spent


class Comparison(diff_match_patch):  # type: ignore[misc]
    """Compares two texts within a StepBudget.

    A timeout of 0 turns off the library's half-match, which no budget counts: on 98,000 equal
    letters it took 8 s. The deadline of each search still applies.
    """

    def __init__(self) -> None:
        super().__init__()
        self.Diff_Timeout = 0

    def diff_bisect(self, text1: str, text2: str, deadline: StepBudget) -> Any:
        deadline.begin_search()
        return super().diff_bisect(text1, text2, deadline)
