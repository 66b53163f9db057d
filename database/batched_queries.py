"""Reads the newest rows of several lists in one statement.

A list of one team and one type is read from its index and stops after 51 rows, while `team_id IN
(...) ORDER BY ... LIMIT 51` would sort every waiting row. SQLite accepts a LIMIT inside a UNION
only if it is wrapped, and Django does not wrap it. So Django builds the SELECTs, and this module
the UNION ALL.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import RawSQL

from database.clock import EPOCH

M = TypeVar("M", bound=Model)
L = TypeVar("L", bound=QuerySet[Any])
SELECTS_AT_ONCE = 400  # SQLite takes 500 in a UNION ALL
PAGE = 50
MICROSECOND = timedelta(microseconds=1)


class Cursor(tuple[datetime, Any]):
    """The position at which a page ended; in a URL `1763635321000000-<uuid>`."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Returns None, which is the first page, for a text that is no cursor."""
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
    """Returns the newest rows first by `column`, starting after the cursor. The index serves the
    first condition; the second is for equal times."""
    if cursor is not None:
        at, pk = cursor
        rows = rows.filter(**{f"{column}__lte": at}).exclude(Q(**{column: at, "pk__gte": pk}))
    return rows.order_by(f"-{column}", "-pk")


def first_of_each(lists: Sequence[QuerySet[M]], count: int = PAGE + 1) -> list[M]:
    """Returns at most `count` rows of each list, in one query. Every list selects the same
    columns."""
    return [row for batch in _batches(lists) for row in _first_of_each(batch, count)]


def load_first_of_each(
    lists: Sequence[QuerySet[M]],
    count: int = PAGE + 1,
    *,
    columns: Callable[[QuerySet[M]], QuerySet[M]],
) -> list[M]:
    """Like `first_of_each`, for rows with many columns or subqueries, which `columns` adds. The
    lists select ids only, so that Django builds those columns once and not for each list, and
    PostgreSQL plans them once."""
    rows: list[M] = []
    for batch in _batches(lists):
        ids, values = _union([each.values("pk") for each in batch], count)
        chosen = lists[0].model._default_manager.filter(pk__in=RawSQL(ids, values))  # noqa: S611 - as below
        rows += columns(chosen)
    return rows


def count_each(lists: Sequence[QuerySet[Any]], at_most: int) -> list[int]:
    """Counts the rows of each list, up to `at_most`, which is more than people look through."""
    return [number for batch in _batches(lists) for number in _count_each(batch, at_most)]


def _batches(lists: Sequence[L]) -> Iterator[Sequence[L]]:
    """Splits the lists of a person in very many teams; all other people have one batch."""
    for begin in range(0, len(lists), SELECTS_AT_ONCE):
        yield lists[begin : begin + SELECTS_AT_ONCE]


def _first_of_each(lists: Sequence[QuerySet[M]], count: int) -> list[M]:
    sql, values = _union(lists, count)
    return list(lists[0].model._default_manager.raw(sql, values))


def _union(lists: Sequence[QuerySet[Any, Any]], count: int) -> tuple[str, list[Any]]:
    parts, values = _statements([rows[:count] for rows in lists])
    sql = " UNION ALL ".join(
        f"SELECT * FROM ({part}) s{number}"  # noqa: S608 - Django made it, the values stay apart
        for number, part in parts
    )
    return sql, values


def _count_each(lists: Sequence[QuerySet[Any]], at_most: int) -> list[int]:
    parts, values = _statements([rows.order_by().values("pk")[:at_most] for rows in lists])
    sql = " UNION ALL ".join(
        f"SELECT {number}, COUNT(*) FROM ({part}) s{number}"  # noqa: S608 - as above
        for number, part in parts
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        counts = dict(cursor.fetchall())
    return [counts[number] for number, _ in parts]


def _statements(lists: Sequence[QuerySet[Any, Any]]) -> tuple[list[tuple[int, str]], list[Any]]:
    compiled = [rows.query.sql_with_params() for rows in lists]
    parts = [(number, sql) for number, (sql, _) in enumerate(compiled)]
    return parts, [value for _, values in compiled for value in values]
