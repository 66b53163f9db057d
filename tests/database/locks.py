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
    """Another transaction holds these rows of PostgreSQL meanwhile. Ours waits for a moment only,
    instead of seconds."""
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
    """Another process writes to the SQLite file, and goes on doing so."""
    connection.ensure_connection()
    writer = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    with closing(writer), waiting_for_a_moment():
        writer.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def waiting_for_a_moment() -> Iterator[None]:
    """Until its end no statement of this connection waits longer for a lock."""
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
        # An answer gives its connection back to the pool, and a later test would get this one.
        changed.close()
        discard_connection()


def discard_connection() -> None:
    """Closes the connection itself, too: one that goes back to the pool keeps what was SET, and the
    next test gets it."""
    if connection.connection is not None:
        connection.connection.close()
    connection.close()
