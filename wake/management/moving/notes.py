"""Holds what each app says of its tables for a move. Apps register their notes when they start,
because this package does not know the tables of the apps above."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

Row = dict[str, Any]
Translate = Callable[[str, int], int]


class OtherNumbers(NamedTuple):
    """Describes columns that name rows by number without being foreign keys: the labels of the
    named tables, and a function that returns these columns of a row with other numbers."""

    labels: Sequence[str]
    translated: Callable[[Row, Translate], Row]


@dataclass(frozen=True)
class TableNotes:
    """Each member has the labels of tables as its keys. `left_out` has the reason why a table does
    not move. `rows_at_once` says how many rows of a table with long rows are read together.
    `keys` are tables whose rows stop while the team is closed, with the path to the team.
    `unlinked` names a foreign key that makes a circle. `refusals` says why a row cannot be stored
    here, or returns an empty text."""

    left_out: Mapping[str, str] = field(default_factory=dict)
    rows_at_once: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, OtherNumbers] = field(default_factory=dict)
    unlinked: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, Callable[[Row], str]] = field(default_factory=dict)


_registered: list[TableNotes] = []


def register(notes: TableNotes) -> None:
    """Adds the notes of an app. Apps call this when they start."""
    _registered.append(notes)
    all_notes.cache_clear()


@cache
def all_notes() -> TableNotes:
    """Returns the notes of all apps together."""
    names = TableNotes.__dataclass_fields__
    return TableNotes(
        **{name: ChainMap(*(getattr(notes, name) for notes in _registered)) for name in names}
    )
