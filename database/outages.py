"""Distinguishes an outage of the database from a failed statement, and drops dead connections."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
from django.db import InterfaceError, OperationalError, connection
from psycopg_pool import PoolTimeout

from database.turns import NoTurn

# SQLSTATE (PostgreSQL, appendix A): a broken connection (class 08), a server that stops or starts
# (57P0x), no more connections (53300), a full disk (53100), a disk that fails (58030).
DISK_FULL = "53100"
AWAY = ("08", "57P0", "53300", DISK_FULL, "58030")
# Serialization failure, deadlock, lock time-out, statement time-out: the same statement may succeed
# in a moment.
BUSY = ("40001", "40P01", "55P03", "57014")
# SQLite's primary result codes.
SQLITE_AWAY = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}
SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class Contended(OperationalError):
    """Others changed the rows that this change depends on, each time that it was tried."""


def is_away(error: BaseException | None) -> bool:
    """Returns whether every statement would fail now, because the database is unreachable or cannot
    write."""
    if not isinstance(error, OperationalError | InterfaceError | psycopg.OperationalError):
        return False
    if isinstance(error, Contended):
        return False
    driver = _driver_error(error)
    if isinstance(driver, sqlite3.Error):
        return _sqlite_code(driver) in SQLITE_AWAY
    if isinstance(driver, NoTurn):
        return False
    # The server gives every failure a code, so one without a code comes from the connection itself.
    sqlstate = getattr(driver, "sqlstate", None)
    return sqlstate is None or sqlstate.startswith(AWAY)


def is_busy(error: BaseException | None) -> bool:
    """Returns whether another transaction or request was in the way, so that repeating the
    statement helps."""
    if not isinstance(error, OperationalError | psycopg.OperationalError):
        return False
    driver = _driver_error(error)
    if isinstance(driver, sqlite3.Error):
        return _sqlite_code(driver) in SQLITE_BUSY
    return isinstance(driver, NoTurn | Contended) or getattr(driver, "sqlstate", None) in BUSY


def is_disk_full(error: BaseException | None) -> bool:
    """Returns whether PostgreSQL had no room to write. For a request, this is an outage."""
    return error is not None and getattr(_driver_error(error), "sqlstate", None) == DISK_FULL


def will_pass(error: BaseException | None) -> bool:
    """Returns whether the client can repeat, unchanged, a request that failed with this error."""
    return is_away(error) or is_busy(error)


def forget_dead(failure: BaseException | None) -> None:
    """Empties a pool that timed out although it has connections. These connections are dead, and
    each pair of them would delay another request by a second (psycopg_pool's pause between
    checks)."""
    if failure is not None and isinstance(_driver_error(failure), PoolTimeout):
        pool: Any = connection.pool  # type: ignore[attr-defined]
        if pool.get_stats()["pool_available"]:
            pool.drain()


def _driver_error(error: BaseException) -> BaseException:
    """Returns the driver's exception, which is the cause of Django's."""
    return error.__cause__ or error


def _sqlite_code(error: sqlite3.Error) -> int:
    """Returns the primary result code, without the higher bits of an extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
