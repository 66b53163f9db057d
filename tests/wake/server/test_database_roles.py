"""The role of deploy/roles.sql runs all of Wake, and cannot change the audit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from psycopg import errors, sql

from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import HOME, World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL"),
]


class WorldOfRoles(World):
    """Runs processes that connect with a role that does not own the tables."""

    def prepare_database(self) -> None:
        self.role, self.owner_url = f"test_wake_app_{uuid4().hex[:8]}", self.database_url
        subprocess.run(
            [
                *("psql", "--quiet", f"--set=role={self.role}"),
                *(f"--file={HOME / 'deploy/roles.sql'}", self.owner_url),
            ],
            env={**os.environ, "WAKE_APP_PASSWORD": "of the role"},
            check=True,
        )
        place = urlsplit(self.owner_url)
        netloc = f"{self.role}:of%20the%20role@{place.hostname}:{place.port or 5432}"
        self.database_url = place._replace(netloc=netloc).geturl()

    def end(self) -> None:
        super().end()
        with psycopg.connect(self.server, autocommit=True) as server:
            server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(self.role)))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WorldOfRoles]:
    world = WorldOfRoles(tmp_path / "data", hold_seconds=0)
    yield world
    world.end()


def test_the_loop_works_with_the_role_and_the_audit_cannot_be_changed(
    world: WorldOfRoles, receiver: Receiver
) -> None:
    world.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    answered = world.run(f"result = answered({receiver.url!r})")
    world.run("from wake.callbacks.sending import send_due; send_due()")
    world.run("from accounts.jobs import extend_log; extend_log()")
    world.run("call_command('audit_verify')")
    world.run("call_command('migrate', check_unapplied=True)")

    assert [request.json["delivery_id"] for request in receiver.received] == [answered]
    for statement in (
        *_changes("accounts_auditevent", "event = ''"),
        *_changes("accounts_auditseal", "hash = ''"),
        *_changes("accounts_logentry", "kind = ''"),
        "CREATE OR REPLACE FUNCTION accounts_append_only() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RETURN NULL; END $$",
        "SET session_replication_role = replica",
    ):
        refused = (errors.InsufficientPrivilege, errors.RestrictViolation)
        with psycopg.connect(world.database_url) as role, pytest.raises(refused):
            role.execute(statement.encode())


def _changes(table: str, change: str) -> list[str]:
    return [
        f"UPDATE {table} SET {change}",  # noqa: S608 - the test's own
        f"DELETE FROM {table}",  # noqa: S608
        f"TRUNCATE {table}",
        f"ALTER TABLE {table} DISABLE TRIGGER append_only",
        f"ALTER TABLE {table} OWNER TO CURRENT_USER",
        f"DROP TRIGGER append_only ON {table}",
        f"DROP TABLE {table}",
    ]


def test_it_reads_and_writes_the_tables_of_later_migrations(world: WorldOfRoles) -> None:
    with psycopg.connect(world.owner_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE later (id bigserial PRIMARY KEY)")

    with psycopg.connect(world.database_url, autocommit=True) as role:
        role.execute("INSERT INTO later DEFAULT VALUES")
        assert role.execute("SELECT count(*) FROM later").fetchone() == (1,)
        with pytest.raises(errors.InsufficientPrivilege):
            role.execute("CREATE TABLE mine (id bigint)")
