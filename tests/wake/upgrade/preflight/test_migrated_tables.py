"""The previous version works on the migrated tables: it finds all its columns, and may leave new
columns out."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from tests.wake.upgrade.preflight.database import Database

pytestmark = [pytest.mark.once, pytest.mark.system]
COLUMNS = """
SELECT table_name || '.' || column_name, data_type,
       is_nullable = 'YES' OR column_default IS NOT NULL OR is_identity = 'YES'
  FROM information_schema.columns WHERE table_schema = 'public'
"""


def columns(url: str) -> dict[str, tuple[str, bool]]:
    """Returns the type of each column, and whether a new row may leave it out."""
    with psycopg.connect(url) as database:
        return {name: (kind, is_free) for name, kind, is_free in database.execute(COLUMNS)}


def test_servers_of_0_2_find_what_they_know(of_0_2: Database) -> None:
    name = f"{urlsplit(of_0_2.url).path[1:]}_migrated"
    copy = replace(of_0_2, url=urlsplit(of_0_2.url)._replace(path=f"/{name}").geturl())
    source = sql.Identifier(urlsplit(of_0_2.url).path[1:])
    with closing(psycopg.connect(settings.DATABASE_URL, autocommit=True)) as server:
        server.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), source)
        )
        try:
            migrated = copy.manage("migrate")
            before, after = columns(of_0_2.url), columns(copy.url)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    assert migrated.returncode == 0, migrated.stderr
    assert {column: after.get(column, ("missing",))[0] for column in before} == {
        column: kind for column, (kind, _) in before.items()
    }
    old_tables = {column.partition(".")[0] for column in before}
    assert [
        column
        for column, (_, is_free) in after.items()
        if column not in before and column.partition(".")[0] in old_tables and not is_free
    ] == []
