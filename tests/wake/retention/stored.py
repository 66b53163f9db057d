"""Reads what the database stores, without the models."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connection

KEY = "a-key-of-thirty-two-characters-or-so"


def tables_with(text: str) -> set[str]:
    """Returns the tables, including the search indexes, that have the text in any column."""
    return {table for table, row in _rows() if text in row}


def stored(model: Any, column: str) -> str:
    """Returns the stored value of this column in the only row."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {model._meta.db_table}")  # noqa: S608 - our names
        ((value,),) = cursor.fetchall()
    return value if isinstance(value, str) else bytes(value).decode()


def _rows() -> list[tuple[str, str]]:
    rows = []
    with connection.cursor() as cursor:
        tables = [model._meta.db_table for model in apps.get_models()]
        if connection.vendor == "sqlite":
            cursor.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary"
                " USING fts5vocab('main', 'words_of_deliveries', 'row')"
            )
            # The index keeps removed words until it is rebuilt.
            tables += ["temp.vocabulary", "words_of_deliveries_data"]
        for table in tables:
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608 - our names
            rows += [(table, " ".join(map(_text, row))) for row in cursor.fetchall()]
    return rows


def _text(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    return str(value)
