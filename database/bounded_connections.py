"""Bounds how long a statement may wait for a PostgreSQL that accepted it and does not answer.

The server enforces `statement_timeout`, and a frozen or unreachable server cannot: each request
waited until TCP timed out.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")

# For the empty statement by which the pool checks that a connection still works.
CHECK_SECONDS = 1.5
# Longer than the server's own limit, so that the server ends a statement that is merely slow.
MARGIN_SECONDS = 1.0
_TIMEOUT = re.compile(r"statement_timeout=(\d+)")


class BoundedConnection(psycopg.Connection[Any]):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        limits = _TIMEOUT.findall(self.info.get_parameters().get("options", ""))
        milliseconds = int(limits[-1]) if limits else 0  # the last one counts; 0 is none
        self._seconds = milliseconds / 1000 + MARGIN_SECONDS if milliseconds else None

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> psycopg.Cursor[Any]:
        if query:
            return super().execute(query, *args, **kwargs)
        usual, self._seconds = self._seconds, CHECK_SECONDS
        try:
            return super().execute(query, *args, **kwargs)
        finally:
            self._seconds = usual

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Raises OperationalError and closes the connection, which cannot be used until its server
        has answered."""
        if timeout is not None or self._seconds is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self._seconds)
        except psycopg.errors._WaitTimeout:
            self.close()
            raise psycopg.OperationalError(
                f"PostgreSQL did not answer within {self._seconds:g} s."
            ) from None
