"""Applies a migration of tables in use, so that they are locked for milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from database.schema.locks import Blocked, effects
from database.schema.pending import Reader

MODES = {Blocked.EVERYTHING: "ACCESS EXCLUSIVE", Blocked.WRITES: "SHARE ROW EXCLUSIVE"}
# PostgreSQL looks for a deadlock when a statement has waited for a second, and ends that statement.
# All tables of a migration together have to be locked, or given up, before a request has waited so
# long.
WAIT_FOR_A_TABLE = "100ms"


class BriefExecutor(MigrationExecutor):
    """Django runs the statements of a migration as it works them out, which takes longer than they
    do. Meanwhile a migration held one table and asked for the next, a request held the next and
    asked for the first, and PostgreSQL ended the request.

    This executor works all statements out first. Then it locks all tables at once, and runs the
    statements."""

    def apply_migration(self, state: Any, migration: Any, *fake: Any, **faked: Any) -> Any:
        is_postgresql = self.connection.vendor == "postgresql"
        # No one uses a new database, and Django is quicker there.
        is_in_use = is_postgresql and bool(self.loader.applied_migrations)
        if any(fake) or any(faked.values()) or not migration.atomic or not is_in_use:
            return super().apply_migration(state, migration, *fake, **faked)
        reader = Reader(state.clone())
        steps = list(reader.steps(migration.operations, migration.app_label))
        if any(step.statements is None for step in steps):
            return super().apply_migration(state, migration)
        self._run(migration, [each for step in steps for each in step.statements or ()])
        return reader.state

    def _run(self, migration: Migration, statements: Sequence[str]) -> None:
        report = self.progress_callback or (lambda *_: None)
        report("apply_start", migration)
        connection: Any = self.connection
        with transaction.atomic(using=connection.alias):
            with connection.cursor() as cursor:
                existing = connection.introspection.table_names(cursor)
                for lock in _locks(statements, existing, connection.ops.quote_name):
                    cursor.execute(lock)
                for statement in statements:
                    cursor.execute(statement)
            self.record_migration(migration)  # type: ignore[call-arg,arg-type] # the stubs are older
        report("apply_success", migration)


def _locks(statements: Iterable[str], existing: Iterable[str], quote: Any) -> list[str]:
    """Returns statements that lock the tables, each as strongly as the migration will."""
    blocked: dict[str, Blocked] = {}
    for statement in statements:
        for effect in effects(statement, lambda table, column: ""):
            strongest = max(effect.blocked, blocked.get(effect.table, Blocked.NOTHING))
            blocked[effect.table] = strongest
    found = [f"SET LOCAL lock_timeout = '{WAIT_FOR_A_TABLE}'"]
    for kind, mode in MODES.items():
        tables = [quote(name) for name in existing if blocked.get(name) is kind]
        if tables:
            found.append(f"LOCK TABLE {', '.join(sorted(tables))} IN {mode} MODE")
    return found
