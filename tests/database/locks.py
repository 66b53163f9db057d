"""Holds rows, or a whole SQLite database, from another connection."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.db import connection, transaction

WAIT_MS = 300


@contextmanager
def locked_elsewhere(rows: Any) -> Iterator[None]:
    """Locks these rows of PostgreSQL in another transaction while the body runs. Our own connection
    waits only for a moment for a lock, instead of seconds."""
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                assert list(rows.select_for_update())
                is_held.set()
                is_over.wait(60)
        finally:
            connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(30)
    try:
        with waiting_for_a_moment():
            yield
    finally:
        is_over.set()
        holder.join(30)


@contextmanager
def database_locked_elsewhere() -> Iterator[None]:
    """Locks the SQLite file by another connection while the body runs."""
    connection.ensure_connection()
    writer = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    with closing(writer), waiting_for_a_moment():
        writer.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def waiting_for_a_moment() -> Iterator[None]:
    """Limits how long a statement of this connection waits for a lock while the body runs."""
    is_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if is_postgresql:
            cursor.execute(f"SET lock_timeout = {WAIT_MS}")
        else:
            cursor.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
    changed = connection.connection
    try:
        yield
    finally:
        # An answer returns its connection to the pool, and a later test would get this connection.
        changed.close()
        discard_connection()


def discard_connection() -> None:
    """Closes the connection itself, too. A connection that returns to the pool keeps its SET
    values, and the next test would get that connection."""
    if connection.connection is not None:
        connection.connection.close()
    connection.close()
