"""Lets a test use two servers, each with a database, an address and keys of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from accounts.agents import keys
from database import clock
from relay.cards import caller_cache
from tests.fixtures import migrated
from wake.assignment import sharing


@dataclass(frozen=True)
class Server:
    """`database` is the name of the database, or the path of SQLite's file."""

    database: str
    origin: str
    key: str
    settings: Any

    @contextmanager
    def here(self) -> Iterator[None]:
        """Makes this server the one that the code of the block runs on."""
        database, before = connection.settings_dict["NAME"], _of(self.settings)
        _use(self.database, self.settings, (self.origin, [self.key]))
        try:
            yield
        finally:
            _use(database, self.settings, before)

    def run(self, *arguments: Any) -> None:
        """Runs a step of `move_team` on this server."""
        with self.here():
            call_command("move_team", *map(str, arguments))


@contextmanager
def another_database(settings: Any, folder: Path) -> Iterator[str]:
    """Makes a migrated database beside that of the test."""
    source = migrated.migrated(settings.DATABASE_URL)
    if connection.vendor == "sqlite":
        yield str(shutil.copy(source, folder / "other.sqlite3"))
        return
    name = f"{connection.settings_dict['NAME']}_other"
    _execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
    _execute("CREATE DATABASE {} TEMPLATE {}", name, source)
    try:
        yield name
    finally:
        _execute("DROP DATABASE {} WITH (FORCE)", name)


def _of(settings: Any) -> tuple[str, list[str]]:
    return settings.WAKE_ORIGIN, settings.WAKE_ENCRYPTION_KEYS


def _use(database: str, settings: Any, facts: tuple[str, list[str]]) -> None:
    settings.WAKE_ORIGIN, settings.WAKE_ENCRYPTION_KEYS = facts
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict["NAME"] = database
    # A process must not remember keys and callers of another server.
    keys._remembered.clear()
    caller_cache._entries.clear()
    sharing._remembered.clear()
    clock._last = None
    cache.clear()


def _execute(statement: Any, *names: str) -> None:
    parameters = connection.get_connection_params()
    with psycopg.connect(
        host=parameters.get("host"),
        port=parameters.get("port"),
        user=parameters.get("user"),
        password=parameters.get("password"),
        dbname="postgres",
        autocommit=True,
    ) as server:
        server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
