"""Translates the numbers by which rows name people and other rows, from one server to the other.

A number of a person or a row that is gone has no translation. Its negative takes its place, which
no row ever has, so that it never means another person.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from accounts.models import User
from wake.management.moving.notes import Translate, all_notes
from wake.management.moving.rows import PlainRow
from wake.management.moving.tables import TeamTable

PERSON = User._meta.label
TEAM = "accounts.Team"


@dataclass
class Numbers:
    """Holds the numbers of the other server with those of this server, by the label of the
    model."""

    here: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, label: str, there: int, here: int) -> None:
        self.here[label][there] = here

    def to_here(self, label: str, number: int) -> int:
        return self.here[label].get(number, -number)

    def inverse(self) -> Numbers:
        return Numbers(
            defaultdict(
                dict,
                {
                    label: {here: there for there, here in pairs.items()}
                    for label, pairs in self.here.items()
                },
            )
        )


def translated(table: TeamTable, row: PlainRow, translate: Translate) -> PlainRow:
    """Returns the row with the numbers of the other server."""
    row, notes = dict(row), all_notes()
    for column in table.fields:
        value, related = row[column.attname], column.related_model
        if related is None:
            continue
        label = related._meta.label
        if label in notes.left_out:
            row[column.attname] = None
        elif isinstance(value, int):
            row[column.attname] = translate(label, value)
    others = notes.numbers.get(table.label)
    return row | others.translated(row, translate) if others else row
