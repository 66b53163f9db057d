"""Reads everything of a team, as it is while the team is open, and counts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from django.db import connection, transaction

from accounts.models import Membership, TeamMove
from wake.management.moving import events, rows
from wake.management.moving.closing import as_open, stopped_keys
from wake.management.moving.ledger import Ledger, Line, comparable
from wake.management.moving.notes import Translate
from wake.management.moving.references import translated
from wake.management.moving.rows import PlainRow
from wake.management.moving.tables import TeamTable, moved_tables

EVENTS = "accounts.AuditEvent"


def read(
    move: TeamMove, ledger: Ledger, translate: Translate | None = None
) -> Iterator[tuple[str, list[PlainRow]]]:
    """Yields the rows of each moved table with the label of the table, and fills the ledger. With
    `translate`, the rows have the numbers of the other server."""
    stopped = stopped_keys(move)
    for table in moved_tables():
        line = Line()
        for batch in _batches(table, move):
            opened = [_row(table, row, move, stopped, translate) for row in batch]
            for row in opened:
                line.add(comparable(table, row))
            yield table.label, opened
        ledger[table.label] = line.as_list()


def read_events(move: TeamMove, ledger: Ledger) -> Iterator[tuple[str, list[events.Event]]]:
    """Yields the audit events of the team, with the label of their table, and fills the ledger."""
    line = Line()
    for some in events.read(move.team_id):
        events.add(line, some)
        yield EVENTS, some
    ledger[EVENTS] = line.as_list()


def ledger_of(move: TeamMove) -> Ledger:
    """Counts the rows and the events of the team on this server."""
    ledger: Ledger = {}
    with without_time_limit():
        for _ in chain(read(move, ledger), read_events(move, ledger)):
            pass
    return ledger


@contextmanager
def without_time_limit() -> Iterator[None]:
    """Lets each statement take longer than in a request. On SQLite statements have no limit, and a
    transaction would keep all other writers out."""
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '10min'")
        yield


def _batches(table: TeamTable, move: TeamMove) -> Iterator[list[PlainRow]]:
    if table.model is not Membership:
        yield from rows.read(table, move.team_id)
        return
    yield [
        {
            "id": each.membership_id,
            "team_id": move.team_id,
            "user_id": each.user_id,
            "role": each.role,
            "from_groups": each.from_groups,
            "created_at": each.created_at,
        }
        for each in move.memberships.order_by("membership_id")
    ]


def _row(
    table: TeamTable, row: PlainRow, move: TeamMove, stopped: set[str], translate: Translate | None
) -> Any:
    row = as_open(table, row, move, stopped)
    return translated(table, row, translate or _same)


def _same(label: str, number: int) -> int:
    return number
