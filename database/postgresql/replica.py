"""Reads from a replica of PostgreSQL while it follows the primary closely.

A replica has what the primary had a moment ago. So a caller says for each query that it may be
answered from there (docs/decisions/0094-a-replica-answers-what-may-be-seconds-old.md). Without a
replica, and with SQLite, every query goes to the one database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import inf
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    OperationalError,
    connections,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

REPLICA = "replica"
MAX_LAG_SECONDS = 5.0
CHECK_SECONDS = 1.0
# A check of a server that does not answer delays its request by a second or more, so it is rare.
RETRY_SECONDS = 10.0
# SQLSTATE (PostgreSQL, appendix A): the query took too long, and would at the primary, too.
TOO_SLOW = "57014"
# A query on a replica is canceled if it reads rows that the primary has removed since.
CONFLICT = "40001"

# Only flushed changes are sent to replicas. The positions are bytes of the write-ahead log.
POSITION_OF_PRIMARY = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint, clock_timestamp()"
)
POSITION_OF_REPLICA = (
    "SELECT pg_is_in_recovery(), pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint,"
    " pg_last_xact_replay_timestamp()"
)

_is_reading: ContextVar[bool] = ContextVar("is_reading_from_the_replica", default=False)


class Read(Protocol):
    """Runs a query that only reads, and returns its result. The query may run twice."""

    def __call__(self, query: Callable[[], T]) -> T: ...


class Router:
    """Sends queries to the replica inside of `from_replica`, and all others to the primary
    (DATABASE_ROUTERS). `SELECT ... FOR UPDATE` counts as a write."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return REPLICA if _is_reading.get() else DEFAULT_DB_ALIAS

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        return True  # both have the same rows

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def from_primary(query: Callable[[], T]) -> T:
    return query()


def from_replica(query: Callable[[], T]) -> T:
    """Runs the query on the replica if it is in use. If the replica fails, runs the query again on
    the primary."""
    if not is_configured() or _monitor.status(now=time.monotonic()).state != State.IN_USE:
        return query()
    token = _is_reading.set(True)
    try:
        return query()
    except Error as error:
        sqlstate = getattr(error.__cause__, "sqlstate", None)
        if sqlstate == TOO_SLOW:
            raise
        if isinstance(error, OperationalError | InterfaceError) and sqlstate != CONFLICT:
            _monitor.fail(error, now=time.monotonic())
    finally:
        _is_reading.reset(token)
        # The request holds one connection at a time, also while its answer is sent.
        connections[REPLICA].close()
    return query()


def is_configured() -> bool:
    return REPLICA in settings.DATABASES


def status() -> Status:
    """Returns what this process knows about the replica, at most about a second old."""
    return _monitor.status(now=time.monotonic())


class State(StrEnum):
    UNCHECKED = "It has not been checked yet."
    IN_USE = "Pages about the past are read from the replica."
    BEHIND = "The replica is behind, so all pages are read from the primary."
    UNREACHABLE = "The replica does not answer, so all pages are read from the primary."
    PROMOTED = "The server at DATABASE_REPLICA_URL is no replica, so it is not used."


@dataclass(frozen=True, slots=True)
class Status:
    """Says whether the replica is in use. It is at most `lag` seconds behind, and None means that
    this is not known."""

    state: State
    lag: float | None = None


class Monitor:
    """Measures in this process how far the replica is behind. One thread measures, and the others
    use the last status meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._status = Status(State.UNCHECKED)
        self._next_check_at = -inf
        # When the primary was at which position, in the last MAX_LAG_SECONDS.
        self._positions: deque[tuple[float, int]] = deque()

    def status(self, *, now: float) -> Status:
        """Returns the status. `now` is in seconds, by the monotonic clock."""
        if now >= self._next_check_at and self._lock.acquire(blocking=False):
            try:
                self._check(now)
            finally:
                self._lock.release()
        return self._status

    def fail(self, error: Error, *, now: float) -> None:
        """Records that the replica does not answer, and forgets its open connections."""
        pool: Any = connections[REPLICA].pool  # type: ignore[attr-defined]
        pool.drain()
        self._set(Status(State.UNREACHABLE), str(error), next_check_at=now + RETRY_SECONDS)

    def _check(self, now: float) -> None:
        # The primary comes first: a replica that has reached this position had all of it later.
        position, at = _row(DEFAULT_DB_ALIAS, POSITION_OF_PRIMARY)
        try:
            is_replica, replayed, committed_at = _row(REPLICA, POSITION_OF_REPLICA)
        except (OperationalError, InterfaceError) as error:
            self.fail(error, now=now)
            return
        finally:
            connections[REPLICA].close()
        next_check_at = now + CHECK_SECONDS
        if not is_replica:
            self._set(Status(State.PROMOTED), next_check_at=next_check_at)
            return
        lag = self._lag(now, position, replayed, at=at, committed_at=committed_at)
        state = State.IN_USE if lag <= MAX_LAG_SECONDS else State.BEHIND
        known_lag = lag if lag < inf else None
        words = "" if known_lag is None else f"At most {known_lag:.1f} s behind."
        self._set(Status(state, known_lag), words, next_check_at=next_check_at)

    def _lag(
        self,
        now: float,
        position: int,
        replayed: int,
        *,
        at: datetime,
        committed_at: datetime | None,
    ) -> float:
        """Returns an upper bound in seconds. The replica has everything up to each position that it
        reached, and up to the last commit that it replayed. While the primary is idle, that commit
        is old, but the replica has reached the newest position. While the primary is busy, the
        newest position is always ahead, but the last commit is new."""
        self._positions.append((now, position))
        while self._positions[0][0] < now - MAX_LAG_SECONDS:
            self._positions.popleft()
        since_reached = [now - then for then, reached in self._positions if reached <= replayed]
        since_commit = (at - committed_at).total_seconds() if committed_at else inf
        return max(min([*since_reached, since_commit]), 0)

    def _set(self, status: Status, words: str = "", *, next_check_at: float) -> None:
        """Takes the status, and logs a line if it differs from the one before."""
        previous, self._status = self._status, status
        self._next_check_at = next_check_at
        if status.state != previous.state:
            level = logging.INFO if status.state == State.IN_USE else logging.WARNING
            log.log(level, "%s", f"{status.state} {words}".rstrip())


def _row(alias: str, statement: str) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()


_monitor = Monitor()
