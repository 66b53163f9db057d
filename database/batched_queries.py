"""Reads the newest rows of several lists in one statement.

A list of one team and one type is read from its index and stops after 51 rows; `team_id IN (...)
ORDER BY ... LIMIT 51` would sort everything that waits. SQLite takes no LIMIT inside a UNION unless
it is wrapped, and Django does not wrap it, so the SELECTs are Django's and the UNION ALL is ours.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar

from django.db import connection
from django.db.models import Model, Q, QuerySet

M = TypeVar("M", bound=Model)
PAGE = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Cursor(tuple[datetime, Any]):
    """Where a page ended; in a URL `1763635321000000-<uuid>`."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """None for what is no cursor, which is the first page."""
        number, _, key = text.partition("-")
        try:
            return cls((EPOCH + int(number[:17]) * MICROSECOND, cls.read_key(key)))
        except (ValueError, OverflowError):
            return None

    @staticmethod
    def read_key(text: str) -> Any:
        return uuid.UUID(text)

    def __str__(self) -> str:
        return f"{(self[0] - EPOCH) // MICROSECOND}-{self[1]}"


def older_than(rows: QuerySet[M], column: str, cursor: Cursor | None) -> QuerySet[M]:
    """Newest first by `column`, from the cursor on. The first condition is the index's, the second
    is for equal times."""
    if cursor is not None:
        at, pk = cursor
        rows = rows.filter(**{f"{column}__lte": at}).exclude(Q(**{column: at, "pk__gte": pk}))
    return rows.order_by(f"-{column}", "-pk")


def first_of_each(lists: Sequence[QuerySet[M]], count: int = PAGE + 1) -> list[M]:
    """At most `count` rows of each, all in one query; every list selects the same columns."""
    if not lists:
        return []
    parts, values = _statements([rows[:count] for rows in lists])
    sql = " UNION ALL ".join(
        f"SELECT * FROM ({part}) s{number}"  # noqa: S608 - Django made it, the values stay apart
        for number, part in parts
    )
    return list(lists[0].model._default_manager.raw(sql, values))


def count_each(lists: Sequence[QuerySet[Any]], at_most: int) -> list[int]:
    """How many rows each has, and `at_most` where there are more: nobody reads past five
    hundred."""
    parts, values = _statements([rows.order_by().values("pk")[:at_most] for rows in lists])
    counts = [0] * len(lists)
    if parts:
        sql = " UNION ALL ".join(
            f"SELECT {number}, COUNT(*) FROM ({part}) s{number}"  # noqa: S608 - as above
            for number, part in parts
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            for number, count in cursor.fetchall():
                counts[number] = count
    return counts


def _statements(lists: Sequence[QuerySet[Any, Any]]) -> tuple[list[tuple[int, str]], list[Any]]:
    compiled = [rows.query.sql_with_params() for rows in lists]
    parts = [(number, sql) for number, (sql, _) in enumerate(compiled)]
    return parts, [value for _, values in compiled for value in values]
