"""`manage.py migrate` runs Django's command without blocking a PostgreSQL that is in use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import OperationalError, connection

from database.outages import is_busy
from database.schema.executor import BriefExecutor

# All other transactions queue up behind a migration that waits for a lock, so each wait is short.
LIMITS = " -c statement_timeout=0 -c lock_timeout=200"
ATTEMPTS = 40
LONGEST_PAUSE = 5.0
# Django's command has no other way to name an executor.
migrate.MigrationExecutor = BriefExecutor  # type: ignore[attr-defined]


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Tries again if a migration gets no lock. That migration was rolled back, and the next try
        starts with it."""
        with _long_statements_short_locks():
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    super().handle(*args, **options)
                except OperationalError as error:
                    if not is_busy(error) or attempt == ATTEMPTS:
                        raise
                    pause = min(0.2 * attempt, LONGEST_PAUSE)
                    self.stderr.write(f"A table is in use. Trying again in {pause:.1f} s.")
                    connection.close()
                    time.sleep(pause)
                else:
                    return


@contextmanager
def _long_statements_short_locks() -> Iterator[None]:
    """Lets statements take longer than in a request, but wait for each lock more briefly. Goes past
    a pooler, which would pass these settings on to the connections of servers."""
    if connection.vendor != "postgresql":
        yield
        return
    usual = connection.settings_dict
    direct = connection.direct_settings  # type: ignore[attr-defined]
    options = {**direct["OPTIONS"], "options": direct["OPTIONS"].get("options", "") + LIMITS}
    _reconnect({**direct, "OPTIONS": options})
    try:
        yield
    finally:
        _reconnect(usual)


def _reconnect(database: dict[str, Any]) -> None:
    if connection.in_atomic_block:  # a test has begun a transaction, which would be lost
        return
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict = database
