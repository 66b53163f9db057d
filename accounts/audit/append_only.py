"""Makes the database refuse to change or remove what is in the audit.

The triggers are created after every `migrate`, because a migration that rebuilds a table on SQLite
drops them silently. The owner of the tables can remove them; the audit chain then shows every
change (accounts/audit/chain.py).
"""

from __future__ import annotations

from typing import Any

from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from accounts.models import AuditEntry, AuditEvent

# For each model, the rows that a new row would replace: those that share a unique value with it.
GUARDED: dict[type[models.Model], str] = {
    AuditEvent: "id = NEW.id",
    AuditEntry: "id = NEW.id OR event_id = NEW.event_id"
    " OR (chain = NEW.chain AND position = NEW.position)",
}

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
DROP = {
    "postgresql": ["DROP TRIGGER IF EXISTS append_only ON {table}"],
    "sqlite": [
        f"DROP TRIGGER IF EXISTS {{table}}_no_{operation}"
        for operation in ("update", "delete", "replace")
    ],
}


def guard_after_migrate(*, using: str, **_: Any) -> None:
    """Receives post_migrate."""
    guard(connections[using])


def guard(connection: BaseDatabaseWrapper) -> None:
    """Creates the triggers; a second call changes nothing."""
    if connection.vendor == "postgresql":
        _execute(connection, [FUNCTION])
    _execute(connection, _statements(MAKE, connection))


def unguard(connection: BaseDatabaseWrapper) -> None:
    """Drops the triggers, for tests that must empty the tables."""
    _execute(connection, _statements(DROP, connection))


def _statements(kind: dict[str, list[str]], connection: BaseDatabaseWrapper) -> list[str]:
    """Returns the statements for the tables that exist; after a backward migration none may."""
    tables = set(connection.introspection.table_names())
    return [
        statement.format(table=table, same=same)
        for model, same in GUARDED.items()
        if (table := model._meta.db_table) in tables
        for statement in kind[connection.vendor]
    ]


def _execute(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
