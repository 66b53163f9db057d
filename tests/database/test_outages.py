"""Some failures of a statement mean that the database is away. In these tests, real statements
fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from psycopg_pool import PoolClosed, PoolTimeout

from accounts.models import Agent
from database.outages import is_away, is_busy, will_pass
from tests.database.locks import (
    database_locked_elsewhere,
    discard_connection,
    locked_elsewhere,
    waiting_for_a_moment,
)
from tests.fixtures.agent_client import AgentClient
from wake.models import Delivery

on_postgresql = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")
on_sqlite = pytest.mark.skipif(bool(settings.DATABASE_URL), reason="about SQLite")


def failure_of(*statements: str) -> Exception:
    *before, last = statements
    with connection.cursor() as cursor:
        for statement in before:
            cursor.execute(statement)
        with pytest.raises((DatabaseError, InterfaceError)) as raised:
            cursor.execute(last)
    return raised.value


@pytest.fixture
def new_connection(transactional_db: None) -> Any:
    """Gives the test a connection of its own, so that its changes end with the test."""
    yield
    discard_connection()


@on_postgresql
@pytest.mark.usefixtures("new_connection")
@pytest.mark.parametrize(
    "statements",
    [
        ["SELECT pg_terminate_backend(pg_backend_pid())"],
        ["DO $$ BEGIN RAISE EXCEPTION 'stops' USING ERRCODE = '57P01'; END $$"],
        ["DO $$ BEGIN RAISE EXCEPTION 'starts' USING ERRCODE = '57P03'; END $$"],
        ["DO $$ BEGIN RAISE EXCEPTION 'too many' USING ERRCODE = '53300'; END $$"],
        ["DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$"],
        ["DO $$ BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = '08006'; END $$"],
    ],
)
def test_postgresql_is_away(statements: list[str]) -> None:
    failure = failure_of(*statements)

    assert (is_away(failure), is_busy(failure)) == (True, False)


@on_postgresql
@pytest.mark.usefixtures("new_connection")
@pytest.mark.parametrize(
    "statements",
    [
        ["SET statement_timeout = 50", "SELECT pg_sleep(5)"],
        ["DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$"],
        ["DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '40001'; END $$"],
    ],
)
def test_one_statement_of_postgresql_had_to_wait(statements: list[str]) -> None:
    failure = failure_of(*statements)

    assert (is_away(failure), is_busy(failure)) == (False, True)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_lock_time_out_is_no_outage(agent: Agent) -> None:
    rows = Agent.objects.filter(pk=agent.pk)

    with (
        locked_elsewhere(rows),
        pytest.raises(OperationalError) as raised,
        transaction.atomic(),
    ):
        list(rows.select_for_update())

    assert (is_away(raised.value), is_busy(raised.value)) == (False, True)


@on_sqlite
@pytest.mark.usefixtures("new_connection")
@pytest.mark.parametrize(
    "statements",
    [
        ["VACUUM", "PRAGMA max_page_count = 1", "CREATE TABLE more AS SELECT hex(randomblob(1e6))"],
        ["PRAGMA query_only = 1", "CREATE TABLE more (id)"],
    ],
)
def test_sqlite_cannot_write(statements: list[str]) -> None:
    failure = failure_of(*statements)

    assert (is_away(failure), is_busy(failure)) == (True, False)


@on_sqlite
@pytest.mark.django_db
def test_the_file_of_sqlite_cannot_be_opened(tmp_path: Path) -> None:
    elsewhere = connection.copy()
    elsewhere.settings_dict = {**elsewhere.settings_dict, "NAME": str(tmp_path / "not" / "there")}

    with pytest.raises(OperationalError) as raised:
        elsewhere.ensure_connection()

    assert is_away(raised.value)


@on_sqlite
@pytest.mark.django_db(transaction=True)
def test_a_locked_database_is_no_outage(agent: Agent) -> None:
    with database_locked_elsewhere():
        failure = failure_of("UPDATE accounts_agent SET agent_id = 'x'")

    assert (is_away(failure), is_busy(failure)) == (False, True)


@pytest.mark.django_db
def test_a_wrong_statement_is_no_outage() -> None:
    with transaction.atomic():
        failure = failure_of("SELECT * FROM there_is_no_such_table")
        transaction.set_rollback(True)

    assert not will_pass(failure)


@pytest.mark.parametrize("cause", [PoolTimeout("no connection"), PoolClosed("it is closed")])
def test_a_pool_without_connections_is_away(cause: Exception) -> None:
    wrapped = OperationalError(str(cause))
    wrapped.__cause__ = cause

    assert is_away(cause)
    assert is_away(wrapped)


@pytest.mark.parametrize("error", [None, ValueError(), TimeoutError("of something else")])
def test_other_errors_are_no_outage(error: Exception | None) -> None:
    assert not will_pass(error)


@pytest.mark.django_db(transaction=True)
def test_a_locked_agent_is_called_busy_and_not_away(caller: AgentClient, agent: Agent) -> None:
    lock: Callable[[], Any] = (
        database_locked_elsewhere
        if connection.vendor == "sqlite"
        else lambda: locked_elsewhere(Agent.objects.filter(pk=agent.pk))
    )
    with lock(), waiting_for_a_moment():
        answer = caller.post(caller.payload())

    assert answer.status_code == 503
    assert int(answer["Retry-After"]) >= 1
    assert answer.json()["error"] == {
        "code": "unavailable",
        "message": "The server is busy for the moment. Nothing was stored; try again.",
    }
    assert not Delivery.objects.exists()
    assert caller.deliver()
