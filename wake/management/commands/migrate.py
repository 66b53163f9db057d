"""`manage.py migrate`: Django's own, which does not hold up a PostgreSQL that is in use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import OperationalError, connection

from database.outages import is_busy

# Everybody else queues up behind a migration that waits for a lock, so that each wait is short.
LIMITS = " -c statement_timeout=0 -c lock_timeout=200"
TRIES = 40
LONGEST_PAUSE = 5.0


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """A migration that got no lock was rolled back, and the next try begins with it."""
        with _patient():
            for attempt in range(1, TRIES + 1):
                try:
                    super().handle(*args, **options)
                except OperationalError as error:
                    if not is_busy(error) or attempt == TRIES:
                        raise
                    pause = min(0.2 * attempt, LONGEST_PAUSE)
                    self.stderr.write(f"A table is in use. Trying again in {pause:.1f} s.")
                    connection.close()
                    time.sleep(pause)
                else:
                    return


@contextmanager
def _patient() -> Iterator[None]:
    """A migration may take longer than a request may, and waits less for a lock."""
    if connection.vendor != "postgresql":
        yield
        return
    options = connection.settings_dict["OPTIONS"]
    usual = options.get("options", "")
    _reconnect(options, usual + LIMITS)
    try:
        yield
    finally:
        _reconnect(options, usual)


def _reconnect(options: dict[str, Any], given: str) -> None:
    if connection.in_atomic_block:  # of a test, which would lose it
        return
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    options["options"] = given
