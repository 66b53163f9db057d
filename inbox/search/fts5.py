"""SQLite's index of words: an FTS5 table over inbox_searchable, kept by triggers.

They are made after every migrate, because Django rebuilds a table to change it, and a rebuild drops
its triggers without a word.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

TABLE = """
CREATE VIRTUAL TABLE IF NOT EXISTS words_of_deliveries USING fts5(
    words, content=inbox_searchable, content_rowid=id, tokenize=ascii
)"""
FORGET = (
    "INSERT INTO words_of_deliveries (words_of_deliveries, rowid, words)"
    " VALUES ('delete', old.id, old.words);"
)
LEARN = "INSERT INTO words_of_deliveries (rowid, words) VALUES (new.id, new.words);"
TRIGGERS = {
    "words_learned": f"AFTER INSERT ON inbox_searchable BEGIN {LEARN} END",
    "words_forgotten": f"AFTER DELETE ON inbox_searchable BEGIN {FORGET} END",
    "words_changed": f"AFTER UPDATE ON inbox_searchable BEGIN {FORGET} {LEARN} END",
}


def keep(using: str, **_: Any) -> None:
    """Makes what is missing and, where that was a trigger, reads everything again."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, type FROM sqlite_master WHERE tbl_name = 'inbox_searchable'")
        there = dict(cursor.fetchall())
        if "inbox_searchable" not in there or there.keys() >= TRIGGERS.keys():
            return
        cursor.execute(TABLE)
        for name in TRIGGERS.keys() - there.keys():
            cursor.execute(f"CREATE TRIGGER {name} {TRIGGERS[name]}")
        cursor.execute("INSERT INTO words_of_deliveries (words_of_deliveries) VALUES ('rebuild')")


def write_anew(connection: Any) -> None:
    """Without what was taken out, which the index only marks as gone. A second or two for a hundred
    thousand deliveries."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO words_of_deliveries (words_of_deliveries) VALUES ('optimize')"
            )
