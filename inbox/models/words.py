"""Normalises words for search, and defines the columns that PostgreSQL and SQLite search."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from django.db import models

ACCENTS = re.compile("[\u0300-\u036f]")
WORD = re.compile(r"[^\W_]+")
# Matches more than 30 characters in a row that are neither letters, digits nor space. Most such
# characters are combining marks. Sorting the marks of a run takes quadratic time. The two halfwidth
# sound marks count as letters for Python, but decompose into combining marks. 30 is the limit of
# Unicode's stream-safe text (UAX 15).
LONG_RUN = re.compile(r"((?:[^\w\s]|[\uff9e\uff9f]){30})(?:[^\w\s]|[\uff9e\uff9f])+")
LONGEST_WORD = 100
MAX_POSITIONS = 255  # PostgreSQL stores at most this many for one word


def normalised(text: str) -> list[str]:
    """Returns the words in lower case and without accents. Anything but letters and digits ends a
    word."""
    plain = ACCENTS.sub("", unicodedata.normalize("NFKD", LONG_RUN.sub(r"\1", text)))
    words = WORD.findall(unicodedata.normalize("NFKC", plain).casefold())
    return [word[:LONGEST_WORD] for word in words]


class WordsField(models.TextField):  # type: ignore[type-arg]  # no generic at run time
    """Stores normalised words separated by spaces. The words are written and searched, but never
    read. On PostgreSQL the column is a tsvector. On SQLite the column is the text itself, which
    FTS5 indexes (inbox/search/fts5.py).

    Words are split here, not by the databases: PostgreSQL's parser reads `example.com/report` as
    one word, and FTS5 reads it as three words.
    """

    def db_type(self, connection: Any) -> str | None:
        return "tsvector" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's
        value = super().get_db_prep_value(value, connection, prepared)
        return _tsvector(value) if connection.vendor == "postgresql" else value

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        return "%s::tsvector" if connection.vendor == "postgresql" else "%s"


@WordsField.register_lookup
class WordsMatch(models.Lookup):
    """Compares in the query language of the database, as `words__match=text` (inbox/search/index.py
    writes the text). Index: words_of_deliveries."""

    lookup_name = "match"
    prepare_rhs = False

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, _ = self.process_lhs(compiler, connection)
        return f"{column} @@ %s::tsquery", [self.rhs]

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, _ = self.process_lhs(compiler, connection)
        table = column.rpartition(".")[0]
        matches = "SELECT rowid FROM words_of_deliveries WHERE words_of_deliveries MATCH %s"
        return f'{table}."id" IN ({matches})', [self.rhs]


class TimeBucketsField(models.Field):  # type: ignore[type-arg]  # no generic at run time
    """Stores the names of a delivery's time buckets (inbox/search/time_buckets.py): an array on
    PostgreSQL, empty on SQLite."""

    def db_type(self, connection: Any) -> str:
        return "text[]" if connection.vendor == "postgresql" else "text"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's
        return value if connection.vendor == "postgresql" else ""


def _tsvector(text: str) -> str:
    """Returns `a b a` as `'a':1,3 'b':2`."""
    positions: dict[str, list[str]] = {}
    for position, word in enumerate(text.split(), 1):
        positions.setdefault(word, []).append(str(position))
    return " ".join(
        f"'{word}':{','.join(positions_of_word[:MAX_POSITIONS])}"
        for word, positions_of_word in positions.items()
    )
