"""Limits how long a statement may take, and how long it may wait for a PostgreSQL that accepted it
and does not answer.

The server enforces `statement_timeout`, but a frozen or unreachable server cannot. Without this
limit, each request would wait until TCP times out
(docs/decisions/0024-connections-are-looked-at-not-asked.md).
"""

from __future__ import annotations

import re
import select
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")

# PostgreSQL enforces these settings for each connection. Times are milliseconds. A connection sends
# the settings when it starts. Behind a transaction pooler the role has them
# (docs/decisions/0085-behind-a-pooler-the-role-has-the-limits.md).
# Without jit=off, PostgreSQL compiled a query of ten milliseconds for six seconds. Without
# max_parallel_workers_per_gather=0, PostgreSQL started two more processes to find eighteen rows.
LIMITS = {
    "statement_timeout": "10000",
    "lock_timeout": "5000",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
# A statement waits this long before the server is asked, over another connection, whether it is
# alive. SIGN_OF_LIFE_SECONDS limits how long that question takes.
PATIENCE_SECONDS = 1.5
SIGN_OF_LIFE_SECONDS = 2
# Longer than the server's own limit, so that the server ends a statement that is merely slow.
MARGIN_SECONDS = 1.0
_TIMEOUT = re.compile(r"statement_timeout=(\d+)")


class BoundedConnection(psycopg.Connection[Any]):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        milliseconds = self._statement_timeout()
        self._seconds = milliseconds / 1000 + MARGIN_SECONDS if milliseconds else None

    def _statement_timeout(self) -> int:
        """Returns the server's own limit in milliseconds, or 0 if it has none."""
        limits = _TIMEOUT.findall(self.info.get_parameters().get("options", ""))
        return int(limits[-1]) if limits else 0  # the last setting counts

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> psycopg.Cursor[Any]:
        """The pool checks a connection with an empty statement. This method sends the empty
        statement only if the server has sent something unasked. When a server stops, it closes its
        connections. A closed connection counts as something that the server has sent."""
        if not query and not self._has_something_to_read():
            return self.cursor()
        return super().execute(query, *args, **kwargs)

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Waits like psycopg. If the server does not answer, raises OperationalError and closes the
        connection, which could not be used again."""
        if timeout is not None or self._seconds is None:
            return super().wait(gen, interval, timeout)
        waited = 0.0
        for until in (min(PATIENCE_SECONDS, self._seconds), self._seconds):
            try:
                return super().wait(gen, interval, until - waited)
            except psycopg.errors._WaitTimeout:
                waited = until
                if not self._server_is_alive():
                    break
        self.close()
        raise psycopg.OperationalError(f"PostgreSQL did not answer within {waited:g} s.")

    def _has_something_to_read(self) -> bool:
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return bool(poll.poll(0))

    def _server_is_alive(self) -> bool:
        """Returns whether the server accepts a new connection. A refusal counts as alive. In that
        case the socket of this connection will show that the connection has ended."""
        try:
            psycopg.connect(self.info.dsn, connect_timeout=SIGN_OF_LIFE_SECONDS).close()
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.OperationalError:
            pass
        return True


class BoundedByRole(BoundedConnection):
    """Connects to a transaction pooler, which accepts no settings. The role has them."""

    def _statement_timeout(self) -> int:
        return int(LIMITS["statement_timeout"])
