"""What is really in the database, behind the models' backs."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from tests.outgoing.conftest import receiver, start_receiver

__all__ = ["receiver", "start_receiver"]

KEY = "a-key-of-thirty-two-characters-or-so"


@pytest.fixture
def encrypting(settings: Any) -> Any:
    """A server that encrypts content from now on."""
    settings.WAKE_ENCRYPTION_KEYS = [KEY]
    settings.WAKE_ENCRYPT_CONTENT = True
    return settings


def tables_with(text: str) -> set[str]:
    """The tables in which it stands somewhere, in any column; the indexes of search included."""
    return {table for table, row in _rows() if text in row}


def stored(model: Any, column: str) -> str:
    """That column of the only row, as it is in the database."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {model._meta.db_table}")  # noqa: S608 - our names
        ((value,),) = cursor.fetchall()
    return value if isinstance(value, str) else bytes(value).decode()


def _rows() -> list[tuple[str, str]]:
    found = []
    with connection.cursor() as cursor:
        tables = [model._meta.db_table for model in apps.get_models()]
        if connection.vendor == "sqlite":
            cursor.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary"
                " USING fts5vocab('main', 'words_of_deliveries', 'row')"
            )
            # The index keeps words that were taken out, until it is written anew.
            tables += ["temp.vocabulary", "words_of_deliveries_data"]
        for table in tables:
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608 - our names
            found += [(table, " ".join(map(_text, row))) for row in cursor.fetchall()]
    return found


def _text(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    return str(value)
