"""Migrations run on a PostgreSQL that is in use."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations import operations
from django.db.migrations.loader import MigrationLoader
from django.db.models.signals import pre_migrate

from database.schema.concurrent_indexes import AddIndexConcurrently, DropForeignKeyIndex
from database.schema.constraints import AddCheckInSteps

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 60
# Older migrations made their tables or came with the first release.
LINTED_FROM = {"accounts": "0009", "inbox": "0006", "relay": "0007", "wake": "0018"}


@pytest.fixture
def server(db: None) -> Iterator[psycopg.Connection[Any]]:
    """Opens a second connection, because Django's own connection migrates."""
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")
    with psycopg.connect(
        host=connection.settings_dict["HOST"],
        port=connection.settings_dict["PORT"] or None,
        user=connection.settings_dict["USER"],
        password=connection.settings_dict["PASSWORD"] or None,
        dbname=connection.settings_dict["NAME"],
        autocommit=True,
    ) as server:
        yield server
        call_command("migrate", verbosity=0)


@pytest.mark.system
def test_a_migration_that_waits_for_a_lock_blocks_no_requests(
    server: psycopg.Connection[Any],
) -> None:
    """A second read comes while the migration waits for a long read, and the long read ends only
    after the second one was answered. So the second read would wait forever behind a migration that
    keeps its place in the queue."""
    read = "SELECT count(*) FROM wake_failingtarget"
    is_waiting = (
        "SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database"
        " WHERE NOT granted AND relation = 'wake_failingtarget'::regclass"
        " AND datname = current_database()"
    )

    with ThreadPoolExecutor(1) as threads, psycopg.connect(server.info.dsn) as other:
        other.execute(f"SET statement_timeout = '{PATIENCE_SECONDS}s'")
        other.commit()
        with server.transaction():
            server.execute(read)
            migration = threads.submit(_migrate, "wake", "0016")
            while not server.execute(is_waiting).fetchone():
                assert not migration.done()
                time.sleep(0.01)
            other.execute(read)
            other.rollback()
        migration.result(PATIENCE_SECONDS)

    columns = server.execute(
        "SELECT 1 FROM information_schema.columns"
        " WHERE table_name = 'wake_failingtarget' AND column_name = 'is_push'"
    )
    assert columns.fetchone() is None


def _migrate(*target: str) -> None:
    try:
        call_command("migrate", *target, verbosity=0)
    finally:
        connection.close()


def test_a_migration_runs_without_the_request_time_limits(
    server: psycopg.Connection[Any],
) -> None:
    def limit() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    seen: list[str] = []

    def record(**_: Any) -> None:
        seen.append(limit())

    pre_migrate.connect(record)
    try:
        call_command("migrate", verbosity=0)
    finally:
        pre_migrate.disconnect(record)

    assert set(seen) == {"0"}
    assert limit() != "0"


@pytest.mark.system
def test_an_invalid_index_of_a_failed_migration_is_replaced(
    server: psycopg.Connection[Any],
) -> None:
    call_command("migrate", "wake", "0011", verbosity=0)
    server.execute("CREATE INDEX callbacks_out_of_the_queue ON wake_callback (id)")

    call_command("migrate", "wake", verbosity=0)

    row = server.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'callbacks_out_of_the_queue'"
    ).fetchone()
    assert row is not None
    assert "WHERE" in row[0]


@pytest.mark.system
def test_an_index_is_dropped_where_another_one_serves(server: psycopg.Connection[Any]) -> None:
    def led_by(table: str, column: str) -> list[str]:
        rows = server.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = %s AND indexdef LIKE %s",
            [table, f"% ({column}%)"],
        )
        return [name for (name,) in rows.fetchall()]

    call_command("migrate", "wake", "0040", verbosity=0)
    before = led_by("wake_callbackattempt", "callback_id")
    call_command("migrate", "wake", verbosity=0)

    assert len(before) == 2
    assert led_by("wake_callbackattempt", "callback_id") == ["attempts_of_a_callback"]
    assert "callbacks_of_a_team" in led_by("wake_callback", "team_id")


@pytest.mark.system
def test_a_check_of_a_failed_migration_is_replaced_and_holds_for_old_rows(
    server: psycopg.Connection[Any],
) -> None:
    call_command("migrate", "accounts", "0017", verbosity=0)
    server.execute(
        "ALTER TABLE accounts_agent ADD CONSTRAINT archived_agents_are_paused"
        " CHECK (archived_at IS NULL) NOT VALID"
    )

    call_command("migrate", "accounts", verbosity=0)

    row = server.execute(
        "SELECT convalidated, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE conname = 'archived_agents_are_paused'"
    ).fetchone()
    assert row is not None
    assert row[0]
    assert "paused_at" in row[1]


def test_new_indexes_are_built_without_blocking_writers() -> None:
    locking, new_models = [], set()
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items()):
        if name[:4] < LINTED_FROM.get(app, "9999"):
            continue
        for operation in _on_the_database(migration.operations):
            if isinstance(operation, operations.CreateModel):
                new_models.add((app, operation.name_lower))
            elif (
                _builds_an_index(operation) and (app, operation.model_name_lower) not in new_models
            ):
                locking.append(f"{app}/{name}: {operation.describe()}")

    assert locking == []


def _on_the_database(given: Sequence[Any]) -> Iterator[Any]:
    """Yields the operations that change the database, and not only Django's state."""
    for operation in given:
        if isinstance(operation, operations.SeparateDatabaseAndState):
            yield from _on_the_database(operation.database_operations)
        else:
            yield operation


def _builds_an_index(operation: Any) -> bool:
    """Says whether the operation reads the whole table under a lock, for an index or to check a
    constraint."""
    if isinstance(operation, DropForeignKeyIndex):
        return False
    if isinstance(operation, operations.AddField | operations.AlterField):
        return bool(getattr(operation.field, "db_index", False) or operation.field.unique)
    is_index = isinstance(operation, operations.AddIndex | operations.AddConstraint)
    return is_index and not isinstance(operation, AddIndexConcurrently | AddCheckInSteps)
