"""Counts the rows of a team, and hashes their content. Both servers compute the same ledger, so two
equal ledgers say that nothing was lost and nothing changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from wake.management.moving.rows import PlainRow
from wake.management.moving.sealed import encoded
from wake.management.moving.tables import TeamTable

Ledger = dict[str, list[Any]]


class LedgersDiffer(Exception):
    """The rows of the team are not those that were copied."""


@dataclass
class Line:
    """Counts and hashes the rows of one table, in the order of their ids."""

    rows: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, row: PlainRow) -> None:
        self.rows += 1
        self.hash.update(encoded(row))

    def as_list(self) -> list[Any]:
        return [self.rows, self.hash.hexdigest()]


def comparable(table: TeamTable, row: PlainRow) -> PlainRow:
    """Returns the row without its own number, which the other server changes."""
    if not table.is_numbered:
        return row
    pk: Any = table.model._meta.pk
    return {name: value for name, value in row.items() if name != pk.attname}


def check(expected: Ledger, actual: Ledger, *, why: str) -> None:
    """Raises LedgersDiffer, with the tables that differ."""
    different = sorted(
        label
        for label in expected.keys() | actual.keys()
        if expected.get(label) != actual.get(label)
    )
    if different:
        raise LedgersDiffer(f"{why} Different: {', '.join(different)}.")
