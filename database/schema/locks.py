"""Says what a statement of a migration blocks on PostgreSQL, and whether it reads the whole table.

The locks are those of PostgreSQL 15 to 18 (Explicit Locking, and the notes of ALTER TABLE, in its
manual).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum


class Blocked(IntEnum):
    """Which statements of servers wait meanwhile."""

    NOTHING = 0
    WRITES = 1
    EVERYTHING = 2


class Work(IntEnum):
    """Names how a statement treats the rows of its table. A later member takes longer."""

    NONE = 0
    READ = 1
    INDEX = 2
    REWRITE = 3


@dataclass(frozen=True, slots=True)
class Effect:
    table: str
    blocked: Blocked
    work: Work


# Returns the type of a column as PostgreSQL names it, such as `character varying(80)`.
TypeOf = Callable[[str, str], str]

_NAME = r'"?(?P<table>\w+)"?'
_INDEX = re.compile(
    rf"CREATE (?:UNIQUE )?INDEX (?P<how>CONCURRENTLY )?(?:IF NOT EXISTS )?\S+ ON (?:ONLY )?{_NAME}"
)
_TABLE = re.compile(rf"(?P<verb>ALTER|DROP) TABLE (?:IF EXISTS )?(?:ONLY )?{_NAME}")
_TRIGGER = re.compile(rf"(?P<verb>CREATE|DROP) .*?TRIGGER .*?\bON {_NAME}", re.DOTALL)
_TYPE = re.compile(r'ALTER COLUMN "?(?P<column>\w+)"? TYPE (?P<type>[\w ]+(?:\(\d+\))?)')
_REFERENCES = re.compile(r'\bREFERENCES "?(?P<table>\w+)"?')
# Without one of these, a new column has the same value in each row, which is stored once.
_EACH_ROW = re.compile(r"GENERATED |\b(?:random|gen_random_uuid|clock_timestamp|nextval)\(", re.I)
_LENGTH = re.compile(r"(?:varchar|character varying)\((\d+)\)")


def effects(statement: str, type_of: TypeOf) -> Iterator[Effect]:
    """Yields the effects on tables. Statements that change rows have none, because they lock only
    these rows. The statement is written as Django's schema editor does."""
    if found := _INDEX.search(statement):
        blocked = Blocked.NOTHING if found["how"] else Blocked.WRITES
        yield Effect(found["table"], blocked, Work.INDEX)
    elif found := _TABLE.match(statement):
        yield from _of_table(found["verb"], found["table"], statement, type_of)
    elif found := _TRIGGER.match(statement):
        is_new = found["verb"] == "CREATE"
        yield Effect(found["table"], Blocked.WRITES if is_new else Blocked.EVERYTHING, Work.NONE)


def _of_table(verb: str, table: str, statement: str, type_of: TypeOf) -> Iterator[Effect]:
    if verb == "ALTER" and "VALIDATE CONSTRAINT" in statement:
        yield Effect(table, Blocked.NOTHING, Work.READ)
        return
    if "ADD CONSTRAINT" in statement and "FOREIGN KEY" in statement:
        work = Work.NONE if "NOT VALID" in statement else Work.READ
        yield Effect(table, Blocked.WRITES, work)
    else:
        work = _work(table, statement, type_of) if verb == "ALTER" else Work.NONE
        yield Effect(table, Blocked.EVERYTHING, work)
    if found := _REFERENCES.search(statement):
        yield Effect(found["table"], Blocked.WRITES, Work.NONE)


def _work(table: str, statement: str, type_of: TypeOf) -> Work:
    found = _TYPE.search(statement)
    if found and not _is_stored_alike(type_of(table, found["column"]), found["type"].strip()):
        return Work.REWRITE
    if "ADD COLUMN" in statement and _EACH_ROW.search(statement):
        return Work.REWRITE
    if re.search(r"\b(?:UNIQUE|PRIMARY KEY|EXCLUDE)\b(?! USING INDEX)", statement):
        return Work.INDEX
    is_checked = "CHECK (" in statement and "NOT VALID" not in statement
    return Work.READ if is_checked or "SET NOT NULL" in statement else Work.NONE


def _is_stored_alike(old: str, new: str) -> bool:
    """Returns whether a column of the old type needs no rewriting: a longer text, or the same."""
    old_length, new_length = _LENGTH.fullmatch(old), _LENGTH.fullmatch(new)
    if old_length and new_length:
        return int(old_length[1]) <= int(new_length[1])
    is_text = old_length is not None or old in {"text", "character varying"}
    return old == new or (is_text and new in {"text", "varchar"})
