"""Makes the database refuse to change or remove rows of the audit and the log, and to add a row to
a chain of version 0.2. So a process of version 0.2 that still runs cannot add to a chain.

The triggers are created after every `migrate`, because a migration that rebuilds a table on SQLite
drops them silently. The owner of the tables can remove the triggers, but the log then reveals every
change (accounts/log/verification.py).
"""

from __future__ import annotations

from typing import Any

from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from accounts.models import AuditEntry, AuditEvent, LogEntry

# For each model, the condition that finds the rows with the same unique value as a new row. INSERT
# OR REPLACE would replace these rows.
GUARDED: dict[type[models.Model], str] = {
    AuditEvent: "id = NEW.id",
    LogEntry: '"index" = NEW."index" OR event_id = NEW.event_id OR receipt_id = NEW.receipt_id'
    " OR (team_id = NEW.team_id AND number = NEW.number)",
}
CLOSED: tuple[type[models.Model], ...] = (AuditEntry,)

FUNCTION = """
CREATE OR REPLACE FUNCTION accounts_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit is append-only: no % of %.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$
"""
MAKE = {
    "postgresql": [
        "CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION accounts_append_only()",
    ],
    "sqlite": [
        f"CREATE TRIGGER IF NOT EXISTS {{table}}_no_{operation} BEFORE {operation} ON {{table}}"
        f" BEGIN SELECT RAISE(ABORT, 'The audit is append-only: no {operation}.'); END"
        for operation in ("update", "delete")
    ]
    + [
        # INSERT OR REPLACE removes rows without running the trigger of DELETE.
        "CREATE TRIGGER IF NOT EXISTS {table}_no_replace BEFORE INSERT ON {table}"
        " WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"
        " BEGIN SELECT RAISE(ABORT, 'The audit is append-only: no replace.'); END"
    ],
}
CLOSE = {
    "postgresql": [
        "CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE"
        " ON {table} FOR EACH STATEMENT EXECUTE FUNCTION accounts_append_only()",
    ],
    "sqlite": [
        f"CREATE TRIGGER IF NOT EXISTS {{table}}_no_{operation} BEFORE {operation} ON {{table}}"
        f" BEGIN SELECT RAISE(ABORT, 'The audit is append-only: no {operation}.'); END"
        for operation in ("insert", "update", "delete")
    ],
}
DROP = {
    "postgresql": ["DROP TRIGGER IF EXISTS append_only ON {table}"],
    "sqlite": [
        f"DROP TRIGGER IF EXISTS {{table}}_no_{operation}"
        for operation in ("insert", "update", "delete", "replace")
    ],
}


def guard_after_migrate(*, using: str, **_: Any) -> None:
    """Creates the triggers after each `migrate`."""
    guard(connections[using])


def guard(connection: BaseDatabaseWrapper) -> None:
    """Creates the triggers. A second call changes nothing."""
    if connection.vendor == "postgresql":
        _execute(connection, [FUNCTION])
    _execute(connection, _statements(MAKE, GUARDED, connection))
    _execute(connection, _statements(CLOSE, dict.fromkeys(CLOSED, ""), connection))


def unguard(connection: BaseDatabaseWrapper) -> None:
    """Drops the triggers, for tests that must empty the tables."""
    every = GUARDED | dict.fromkeys(CLOSED, "")
    _execute(connection, _statements(DROP, every, connection))


def _statements(
    kind: dict[str, list[str]],
    tables: dict[type[models.Model], str],
    connection: BaseDatabaseWrapper,
) -> list[str]:
    """Returns the statements for the existing tables. After a backward migration the triggers may
    be missing."""
    existing = set(connection.introspection.table_names())
    return [
        statement.format(table=table, same=same)
        for model, same in tables.items()
        if (table := model._meta.db_table) in existing
        for statement in kind[connection.vendor]
    ]


def _execute(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
