"""Estimates for how long each pending migration will block which tables, at their size now."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.migrations import Migration

from database.schema.locks import Blocked, Effect, Work, effects
from database.schema.pending import PendingOperation, steps_of_pending_migrations

# The speed of the disk is measured here and now. The other figures are from 138 MB of deliveries on
# PostgreSQL 15 (docs/decisions/0092-preflight-estimates-from-a-sample.md).
SAMPLE_BYTES = 32_000_000
# Rows in memory are checked no faster than this.
CHECKED_BYTES_A_SECOND = 500_000_000.0
# A table is written again with its indexes, and with a copy in the write-ahead log.
REWRITTEN_BYTES_A_SECOND = 40_000_000.0
# Sorting an index takes this many times as long as reading the table.
INDEX_MULTIPLE = 2.0


@dataclass(frozen=True, slots=True)
class Table:
    """The sizes of a table in bytes, without and with its indexes and long values."""

    name: str
    heap: int
    total: int


@dataclass(slots=True)
class Forecast:
    """Says for how long a migration blocks existing tables. Times are seconds."""

    migration: str
    is_atomic: bool
    blocked: dict[str, Blocked] = field(default_factory=dict)
    blocked_for: dict[str, float] = field(default_factory=dict)
    # Builds of indexes and checks of rows that block nothing.
    beside: dict[str, float] = field(default_factory=dict)
    new_bytes: int = 0
    # The docstring of each part that is code.
    code: list[str] = field(default_factory=list)


def forecasts() -> Iterator[Forecast]:
    """Yields one for each pending migration, on PostgreSQL. Reads at most 32 MB of one table."""
    tables = _tables()
    speed = _bytes_a_second(max(tables.values(), key=lambda table: table.heap, default=None))
    for migration, steps in steps_of_pending_migrations():
        yield forecast(migration, steps, tables, speed)


def forecast(
    migration: Migration,
    steps: Sequence[PendingOperation],
    tables: Mapping[str, Table],
    speed: float,
) -> Forecast:
    """`speed` is how many bytes of a table PostgreSQL reads and checks in a second."""
    result = Forecast(f"{migration.app_label}.{migration.name}", bool(migration.atomic))
    for step in steps:
        if step.statements is None:
            result.code.append(_described(step, migration))
            continue
        for statement in step.statements:
            for effect in effects(statement, _type_of):
                if table := tables.get(effect.table):
                    _add(result, effect, table, speed)
    return result


def _add(result: Forecast, effect: Effect, table: Table, speed: float) -> None:
    seconds = _seconds(effect.work, table, speed)
    if effect.work is Work.REWRITE:
        result.new_bytes += table.total
    elif effect.work is Work.INDEX:
        result.new_bytes += table.heap // 10
    if effect.blocked is Blocked.NOTHING:
        result.beside[table.name] = result.beside.get(table.name, 0.0) + seconds
    else:
        strongest = max(effect.blocked, result.blocked.get(table.name, Blocked.NOTHING))
        result.blocked[table.name] = strongest
        result.blocked_for.setdefault(table.name, 0.0)
    if result.is_atomic:  # a transaction keeps each lock until its end
        for name in result.blocked_for:
            result.blocked_for[name] += seconds
    elif effect.blocked is not Blocked.NOTHING:
        result.blocked_for[table.name] += seconds


def _seconds(work: Work, table: Table, speed: float) -> float:
    if work is Work.REWRITE:
        return table.total / REWRITTEN_BYTES_A_SECOND
    if work is Work.INDEX:
        return INDEX_MULTIPLE * table.heap / speed
    return table.heap / speed if work is Work.READ else 0.0


def _described(step: PendingOperation, migration: Migration) -> str:
    code = getattr(step.operation, "code", None)
    module = inspect.getmodule(type(migration))
    text = inspect.getdoc(code) or inspect.getdoc(module) or step.operation.describe()
    return text.partition("\n\n")[0].replace("\n", " ")


def _tables() -> dict[str, Table]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_relation_size(oid), pg_total_relation_size(oid) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        )
        return {name: Table(name, heap, total) for name, heap, total in cursor.fetchall()}


def _bytes_a_second(largest: Table | None) -> float:
    """Reads a random part of the largest table."""
    if largest is None or largest.heap < SAMPLE_BYTES:
        return CHECKED_BYTES_A_SECOND
    percent = 100 * SAMPLE_BYTES / largest.heap
    name = connection.ops.quote_name(largest.name)
    with connection.cursor() as cursor:
        began = time.monotonic()
        cursor.execute(
            f"SELECT count(*) FROM {name} TABLESAMPLE SYSTEM (%s)",  # noqa: S608 - a table's name
            [percent],
        )
        return min(SAMPLE_BYTES / (time.monotonic() - began), CHECKED_BYTES_A_SECOND)


def _type_of(table: str, column: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attname = %s",
            [table, column],
        )
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row[0] if row else ""
