"""Compares the costs of the three hot paths after a million earlier deliveries with those after ten
thousand."""

from __future__ import annotations

from bench import hot_paths
from bench.tools.results import Row

AGENTS = 2  # each agent has its share of the deliveries of hot_paths
FEW, MANY = 10_000, 1_000_000
ACCEPT = 1.1


def measure(*, requests: int, rounds: int) -> list[Row]:
    few, many = (
        hot_paths.medians(requests=requests, rounds=rounds, deliveries=total // AGENTS)
        for total in (FEW, MANY)
    )
    return [_row(name, few[name], many[name]) for name in few]


def _row(name: str, few: tuple[float, ...], many: tuple[float, ...]) -> Row:
    """Compares the ratios to the lean reference, because the machine may be busier the second
    time."""
    (wake, lean, _), (later_wake, later_lean, _) = few, many
    note = f"{wake / lean:.2f}x the lean reference before, {later_wake / later_lean:.2f}x after"
    return Row(
        f"{name}, a million rows", (later_wake / later_lean) / (wake / lean), ACCEPT, note=note
    )
