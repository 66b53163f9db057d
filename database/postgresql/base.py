"""Provides the DatabaseWrapper that Django imports from this module (DATABASES, ENGINE)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.db.backends.postgresql import base, operations
from psycopg.abc import Buffer
from psycopg.types.datetime import TimestamptzLoader

from database.turns import Turn, Turns, current_caller

_lock = threading.Lock()
_turns: dict[str, Turns] = {}


class TimeLoader(TimestamptzLoader):
    """Reads a time ten times as fast as Django's loader, which uses a regular expression."""

    timezone = UTC  # Django reads this attribute

    def load(self, data: Buffer) -> datetime:
        try:
            return datetime.fromisoformat(str(data, "ascii")).astimezone(UTC)
        except (ValueError, OverflowError):  # psycopg raises its own errors, as for `infinity`
            return super().load(data)


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> Any:
        if isinstance(cursor, psycopg.RawCursor):
            return sql
        return super().last_executed_query(cursor, sql, params)


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes a connection from the pool when it is this thread's turn.

    Without turns, the pool waits one second for a connection. One second is right when the server
    is away, but too short for a hundred simultaneous requests. With turns, a thread waits until a
    connection is free or the server is away.
    """

    ops_class = DatabaseOperations

    def raw_cursor(self) -> Any:
        """Returns a cursor for statements with PostgreSQL's own placeholders ($1). psycopg searches
        every other statement for `%s`. A statement with more than 50 parameters is searched again
        on every run."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        return self._prepare_cursor(psycopg.RawCursor(self.connection))  # type: ignore[attr-defined]

    @property
    def direct_settings(self) -> dict[str, Any]:
        """Returns the settings of connections that go past a transaction pooler. Without a pooler,
        these are the usual settings."""
        return {**self.settings_dict, **self.settings_dict.get("DIRECT", {})}

    def direct_connection_params(self) -> dict[str, Any]:
        """Returns the parameters of a connection that has a session of its own, for LISTEN."""
        return type(self)(self.direct_settings, self.alias).get_connection_params()

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        if self.timezone is UTC:
            params["context"].adapters.register_loader("timestamptz", TimeLoader)
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if not self.pool:
            return super().get_new_connection(conn_params)
        turns = self._pool_turns()
        self._turn = Turn(turns, current_caller())
        self._turn.take()
        try:
            return super().get_new_connection(conn_params)
        except BaseException as error:
            self._turn.give_back()
            if isinstance(error, psycopg.OperationalError):
                turns.fail_those_who_wait(str(error))
            raise

    def _close(self) -> None:
        connection = self.connection
        if connection is None or not self.pool:
            super()._close()  # type: ignore[misc]
            return
        is_lost = connection.closed
        try:
            super()._close()  # type: ignore[misc]
        finally:
            if is_lost:
                message = "The connection to PostgreSQL is lost."
                self._pool_turns().fail_those_who_wait(message)
            self._turn.give_back()

    def _pool_turns(self) -> Turns:
        with _lock:
            return _turns.setdefault(self.alias, Turns("database", self.pool.max_size))
