"""A statement that a frozen PostgreSQL never answers."""

from __future__ import annotations

import time

import psycopg
import pytest
from django.conf import settings

from database.bounded_connections import CHECK_SECONDS, MARGIN_SECONDS, BoundedConnection


@pytest.mark.parametrize(("limit", "bound"), [(500, 0.5 + MARGIN_SECONDS), (0, None)])
def test_a_statement_waits_a_second_longer_than_the_servers_own_limit(
    limit: int, bound: float | None
) -> None:
    if not settings.DATABASE_URL:
        pytest.skip("about PostgreSQL")
    options = f"-c statement_timeout=60000 -c statement_timeout={limit}"
    connection = BoundedConnection.connect(settings.DATABASE_URL, options=options, autocommit=True)
    connection.execute("SET statement_timeout = 0")  # as if the server did not look
    began = time.monotonic()

    if bound is None:
        connection.execute("SELECT pg_sleep(2)")
        connection.close()
        return
    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        connection.execute("SELECT pg_sleep(5)")

    assert bound <= time.monotonic() - began < bound + 2
    assert connection.closed
    assert CHECK_SECONDS < 2
