"""The migration from version 0.1 delays no delivery by a second, however many rows there are."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from psycopg import sql

from tests.wake.migrations.test_database_of_0_1 import VERSION_0_1, _agent, _answered
from tests.wake.server.up import ROOT, clean_environment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

ROWS = 60_000
HELD_SECONDS = 8  # longer than a delivery may take, even on a busy machine
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'wake_delivery'::regclass"


@pytest.fixture
def server(db: None) -> Iterator[psycopg.Connection[Any]]:
    """Returns a connection beside Django's own to a database as version 0.1 left it."""
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")
    MigrationExecutor(connection).migrate(VERSION_0_1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), inet_server_port()")
        name, port = cursor.fetchone()
    given = connection.settings_dict
    with psycopg.connect(
        host=given["HOST"],
        port=port,
        user=given["USER"],
        password=given["PASSWORD"] or None,
        dbname=name,
        autocommit=True,
        options="-c synchronous_commit=off",  # locks are measured, and not the disk
    ) as server:
        yield server
        call_command("migrate", verbosity=0)


def test_deliveries_continue_while_a_large_table_migrates(
    server: psycopg.Connection[Any], tmp_path: Path
) -> None:
    apps = MigrationExecutor(connection).loader.project_state(VERSION_0_1).apps
    delivery = _answered(apps, _agent(apps)).delivery
    deliver = _as_a_process_of_0_1(server, delivery.pk)
    server.execute(deliver, [ROWS])
    began, dsn = threading.Event(), server.info.dsn

    def read_until_the_migration_has_waited_for_long() -> None:
        with psycopg.connect(dsn) as reader, psycopg.connect(dsn, autocommit=True) as other:
            reader.execute("SELECT count(*) FROM wake_delivery")
            began.set()
            until = time.monotonic() + 120
            while not other.execute(WAITING).fetchone() and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(HELD_SECONDS)

    reading = threading.Thread(target=read_until_the_migration_has_waited_for_long)
    reading.start()
    assert began.wait(60)
    migration, allowed = _migrate(server, data=tmp_path), _a_second()
    slowest, delivered = 0.0, 0
    while migration.poll() is None:
        before = time.monotonic()
        delivered += server.execute(deliver, [1]).rowcount
        slowest = max(slowest, time.monotonic() - before)
        time.sleep(0.01)
    reading.join()

    assert migration.returncode == 0
    assert slowest < max(allowed, _a_second()) < HELD_SECONDS
    assert delivered > 10
    assert MigrationExecutor(connection).migration_plan(_newest()) == []
    row = server.execute("SELECT count(*) FROM wake_delivery WHERE priority = 'normal'").fetchone()
    assert row == (1 + ROWS + delivered,)


def _as_a_process_of_0_1(server: psycopg.Connection[Any], pk: Any) -> sql.Composed:
    """Returns the statement that delivers as often as its parameter says. The statement names the
    columns of version 0.1."""
    columns = [
        name
        for (name,) in server.execute(
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = 'wake_delivery'::regclass AND attnum > 0 AND NOT attisdropped"
        )
    ]
    new = {
        "id": sql.SQL("gen_random_uuid()"),
        "activity_at": sql.SQL("clock_timestamp() + number * interval '1 microsecond'"),
    }
    return sql.SQL(
        "INSERT INTO wake_delivery ({}) SELECT {} FROM wake_delivery, generate_series(1, %s) number"
        " WHERE id = {}"
    ).format(
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(new.get(name, sql.Identifier(name)) for name in columns),
        sql.Literal(pk),
    )


def _a_second() -> float:
    """Returns in how many seconds a process now does the work of one second, because it shares the
    cores with other processes."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _newest() -> Any:
    return MigrationExecutor(connection).loader.graph.leaf_nodes()


def _migrate(server: psycopg.Connection[Any], *, data: Path) -> subprocess.Popen[bytes]:
    """Migrates in another process. A migration keeps Python busy, and this process has to
    measure."""
    info = server.info
    url = f"postgresql://{info.user}:{info.password}@{info.host}:{info.port}/{info.dbname}"
    environment = clean_environment(DATABASE_URL=url, WAKE_DEV="1", WAKE_DATA=str(data))
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    return subprocess.Popen(command, cwd=ROOT, env=environment)
