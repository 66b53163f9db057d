"""PostgreSQL may freeze, or may have closed its connections."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from psycopg_pool import ConnectionPool

from database.postgresql import bounded_connections
from database.postgresql.bounded_connections import (
    MARGIN_SECONDS,
    PATIENCE_SECONDS,
    BoundedConnection,
)

pytestmark = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")


@pytest.fixture
def observer() -> Iterator[psycopg.Connection]:
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(("limit", "bound"), [(500, 0.5 + MARGIN_SECONDS), (0, None)])
def test_a_statement_waits_a_second_longer_than_the_servers_own_limit(
    limit: int, bound: float | None
) -> None:
    connection = _connect(f"-c statement_timeout=60000 -c statement_timeout={limit}")
    connection.execute("SET statement_timeout = 0")  # the server no longer enforces its own limit
    began = time.monotonic()

    if bound is None:
        connection.execute("SELECT pg_sleep(2)")
        connection.close()
        return
    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        connection.execute("SELECT pg_sleep(5)")

    assert bound <= time.monotonic() - began < bound + 2
    assert connection.closed


def test_a_slow_statement_of_a_server_that_is_alive_is_waited_for() -> None:
    connection = _connect("-c statement_timeout=10000")

    rows = connection.execute(f"SELECT pg_sleep({PATIENCE_SECONDS + 0.5}), 1").fetchall()

    assert rows[0][1] == 1
    connection.close()


def test_a_statement_of_a_server_that_gives_no_sign_of_life_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = _connect("-c statement_timeout=10000")
    # The server of the tests always gives a sign of life. This function imitates one whose machine
    # is gone.
    monkeypatch.setattr(bounded_connections.BoundedConnection, "_server_is_alive", lambda _: False)
    began = time.monotonic()

    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        connection.execute("SELECT pg_sleep(5)")

    assert time.monotonic() - began < PATIENCE_SECONDS + 2
    assert connection.closed


def test_a_connection_is_checked_without_a_statement(observer: psycopg.Connection) -> None:
    connection = _connect("")
    connection.execute("SELECT 'the last statement'")

    ConnectionPool.check_connection(connection)

    ((last,),) = observer.execute(
        "SELECT query FROM pg_stat_activity WHERE pid = %s", [connection.info.backend_pid]
    ).fetchall()
    assert last == "SELECT 'the last statement'"
    connection.close()


def test_a_connection_that_the_server_has_closed_does_not_pass_the_check(
    observer: psycopg.Connection,
) -> None:
    connection = _connect("")
    observer.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])

    with pytest.raises(psycopg.OperationalError):
        ConnectionPool.check_connection(connection)


def test_a_connection_that_was_only_sent_a_notice_passes_the_check(
    observer: psycopg.Connection,
) -> None:
    connection = _connect("")
    connection.execute("LISTEN something")
    observer.execute("NOTIFY something")

    ConnectionPool.check_connection(connection)

    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    connection.close()


def _connect(options: str) -> BoundedConnection:
    return BoundedConnection.connect(settings.DATABASE_URL, options=options, autocommit=True)
