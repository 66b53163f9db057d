"""Runs the drill with fewer deliveries: fills a database, measures it, erases a month, backs up,
restores and verifies (bench/drill/)."""

from __future__ import annotations

from pathlib import Path

from bench.drill.__main__ import run as drill
from bench.tools.results import line_of

DELIVERIES = 50_000


def run(_folder: Path) -> list[str]:
    steps = drill(DELIVERIES, name="wake_soak_drill")
    return [line_of(row) for rows in steps for row in rows]
