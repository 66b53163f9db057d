"""Prints the table of measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """Compares one measurement with its limit and its goal, in the same unit.

    Usually a measurement passes if it is at most `accept`. With `at_least`, a measurement passes if
    it is at least `accept`. Without `accept`, it is a figure without a limit. `note` says how the
    row was measured, or `skipped` says why it was not measured.
    """

    name: str
    measured: float
    accept: float | None
    goal: float | None = None
    unit: str = "x"
    at_least: bool = False
    note: str = ""
    skipped: str = ""

    @property
    def passes(self) -> bool:
        if self.accept is None:
            return True
        return self.measured >= self.accept if self.at_least else self.measured <= self.accept


def print_table(rows: Iterable[Row]) -> None:
    for row in rows:
        print(line_of(row), flush=True)  # noqa: T201 - the table is the output


def line_of(row: Row) -> str:
    if row.skipped:
        return f"SKIP   {row.name:28} {row.skipped}"
    verdict, bound = "", ""
    if row.accept is not None:
        verdict = "PASS" if row.passes else "SHORT"
        bound = f"{'>=' if row.at_least else '<='} {row.accept:g}{row.unit}"
    goal = "" if row.goal is None else f"goal {row.goal:g}{row.unit}"
    measured = (
        f"{row.measured:.2f}{row.unit}" if row.measured < 100 else f"{row.measured:,.0f}{row.unit}"
    )
    return f"{verdict:5}  {row.name:28} {measured:>10}  {bound:>10}  {goal:10}  {row.note}"
