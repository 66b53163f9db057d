"""Compares the versions of the servers beside Wake with the oldest that Wake runs with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from psycopg_pool import PoolTimeout
from redis import Redis
from redis.exceptions import RedisError

from wake.management.preflight.findings import Finding, Level
from wake.server.health import broker

POSTGRESQL = (15,)
REDIS = (6,)
# Older ones do not drop an expired job from a quorum queue.
RABBITMQ = (3, 10)
PGBOUNCER = (1, 18)
# Older ones lose prepared statements.
PGBOUNCER_THAT_PREPARES = (1, 22)
PATIENCE_SECONDS = 3


def database(*, oldest: tuple[int, ...] = POSTGRESQL) -> Finding:
    """Returns a problem if the database does not answer, or if PostgreSQL is too old."""
    try:
        with connection.cursor() as cursor:
            if connection.vendor != "postgresql":
                cursor.execute("SELECT sqlite_version()")
                return Finding("database", Level.OK, f"SQLite {cursor.fetchone()[0]} answers.")
            cursor.execute("SHOW server_version")
            version = str(cursor.fetchone()[0])
    except (DatabaseError, PoolTimeout) as error:
        reason = str(error).strip().splitlines()[0]
        return Finding("database", Level.PROBLEM, f"The database does not answer: {reason}")
    return _compared("PostgreSQL", "database", version, oldest)


def redis(*, oldest: tuple[int, ...] = REDIS) -> Iterator[Finding]:
    if not settings.REDIS_URL:
        return
    client = Redis.from_url(
        settings.REDIS_URL, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
    )
    try:
        version = str(client.info("server")["redis_version"])
    except (RedisError, OSError) as error:
        yield Finding("redis", Level.PROBLEM, f"Redis does not answer: {error}")
    else:
        yield _compared("Redis", "redis", version, oldest)
    finally:
        client.close()


def rabbitmq(*, oldest: tuple[int, ...] = RABBITMQ) -> Iterator[Finding]:
    if not settings.WAKE_USES_RABBITMQ:
        return
    try:
        version = broker.ask_rabbitmq(seconds=PATIENCE_SECONDS)
    except broker.RABBITMQ_ERRORS as error:
        yield Finding("rabbitmq", Level.PROBLEM, f"RabbitMQ does not answer: {error}")
    else:
        yield _compared("RabbitMQ", "rabbitmq", version, oldest)


def pooler() -> Iterator[Finding]:
    """Asks the console of PgBouncer, which answers only its administrators and the users in
    `stats_users` (deploy/pgbouncer.ini)."""
    if not settings.WAKE_DATABASE_POOLED:
        return
    try:
        version, prepared = _of_pgbouncer()
    except psycopg.Error:
        yield Finding(
            "pooler",
            Level.WARNING,
            "PgBouncer does not tell its version to this role. Add the role to `stats_users` in "
            f"pgbouncer.ini, or look with `pgbouncer --version`: {_text(PGBOUNCER)} or later.",
        )
        return
    yield _compared("PgBouncer", "pooler", version, PGBOUNCER)
    keeps = _parsed(version) >= PGBOUNCER_THAT_PREPARES and prepared > 0
    prepares = connection.settings_dict["OPTIONS"]["prepare_threshold"] is not None
    if prepares and not keeps:
        yield Finding(
            "pooler",
            Level.PROBLEM,
            "PgBouncer keeps no prepared statements, and Wake uses them. Set "
            "WAKE_PREPARED_STATEMENTS=0, or `max_prepared_statements` with PgBouncer "
            f"{_text(PGBOUNCER_THAT_PREPARES)} or later.",
        )


def _of_pgbouncer() -> tuple[str, int]:
    """Returns the version, and how many prepared statements it keeps for each connection. Raises
    psycopg's errors."""
    place: dict[str, Any] = connection.settings_dict
    with psycopg.connect(
        host=place["HOST"],
        port=place["PORT"] or None,
        user=place["USER"],
        password=place["PASSWORD"] or None,
        dbname="pgbouncer",
        connect_timeout=PATIENCE_SECONDS,
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,
    ) as console:
        ((version,),) = console.execute("SHOW VERSION").fetchall()
        rows = console.execute("SHOW CONFIG").fetchall()
    config = {row[0]: row[1] for row in rows}
    return str(version), int(config.get("max_prepared_statements") or 0)


def _compared(name: str, part: str, version: str, oldest: tuple[int, ...]) -> Finding:
    number = _text(_parsed(version))
    if _parsed(version) >= oldest:
        return Finding(part, Level.OK, f"{name} {number} answers.")
    return Finding(part, Level.PROBLEM, f"{name} is {number}. Wake needs {_text(oldest)} or later.")


def _parsed(version: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
