"""Maintains SQLite's index of words: an FTS5 table over inbox_searchable, which triggers fill.

The triggers are made after every migrate, because Django rebuilds a table to change it, and a
rebuild silently drops its triggers.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

TABLE = """
CREATE VIRTUAL TABLE IF NOT EXISTS words_of_deliveries USING fts5(
    words, content=inbox_searchable, content_rowid=id, tokenize=ascii
)"""
DELETE = (
    "INSERT INTO words_of_deliveries (words_of_deliveries, rowid, words)"
    " VALUES ('delete', old.id, old.words);"
)
INSERT = "INSERT INTO words_of_deliveries (rowid, words) VALUES (new.id, new.words);"
TRIGGERS = {
    "words_learned": f"AFTER INSERT ON inbox_searchable BEGIN {INSERT} END",
    "words_forgotten": f"AFTER DELETE ON inbox_searchable BEGIN {DELETE} END",
    "words_changed": f"AFTER UPDATE ON inbox_searchable BEGIN {DELETE} {INSERT} END",
}


def create_index(using: str, **_: Any) -> None:
    """Creates the table and its triggers if they are missing. If a trigger was missing, indexes
    every row again."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, type FROM sqlite_master WHERE tbl_name = 'inbox_searchable'")
        existing = dict(cursor.fetchall())
        if "inbox_searchable" not in existing or existing.keys() >= TRIGGERS.keys():
            return
        cursor.execute(TABLE)
        for name in TRIGGERS.keys() - existing.keys():
            cursor.execute(f"CREATE TRIGGER {name} {TRIGGERS[name]}")
        cursor.execute("INSERT INTO words_of_deliveries (words_of_deliveries) VALUES ('rebuild')")


def optimize(connection: Any) -> None:
    """Removes deleted words from the index. Until then, FTS5 only marks these words as deleted.
    Takes a second or two for a hundred thousand deliveries."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO words_of_deliveries (words_of_deliveries) VALUES ('optimize')"
            )
