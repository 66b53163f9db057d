"""Reads the newest rows of several lists in one statement.

A list of one team and one type is read from its index and stops after 51 rows, while `team_id IN
(...) ORDER BY ... LIMIT 51` would sort every waiting row. SQLite accepts a SELECT with a LIMIT
inside a UNION only if that SELECT is wrapped, and Django does not wrap it. So Django builds the
SELECTs, and this module joins them with UNION ALL.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import RawSQL

from database.clock import EPOCH
from database.compiled_queries import bound

M = TypeVar("M", bound=Model)
L = TypeVar("L")
SELECTS_AT_ONCE = 400  # SQLite takes 500 SELECTs in a UNION ALL
PAGE = 50
MICROSECOND = timedelta(microseconds=1)


class Cursor(tuple[datetime, Any]):
    """Marks the position at which a page ended. In a URL a cursor is `1763635321000000-<uuid>`."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Reads a cursor. Returns None, which means the first page, if the text is not a cursor."""
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


@dataclass(frozen=True, slots=True)
class Variant(Generic[M]):
    """Describes one of several lists that have the same query with different values for its
    Parameters (database/compiled_queries.py). Django compiles the query once for all of them."""

    query: QuerySet[M]
    values: Mapping[str, Any] = field(default_factory=dict)


Lists = Sequence[QuerySet[M] | Variant[M]]
Select = Callable[[QuerySet[Any, Any]], QuerySet[Any, Any]]


def older_than(rows: QuerySet[M], column: str, cursor: Cursor | None) -> QuerySet[M]:
    """Returns the rows after the cursor, newest first by `column`. The index serves the first
    condition. The second condition is for rows with equal times."""
    if cursor is not None:
        at, pk = cursor
        rows = rows.filter(**{f"{column}__lte": at}).exclude(Q(**{column: at, "pk__gte": pk}))
    return rows.order_by(f"-{column}", "-pk")


def first_of_each(lists: Lists[M], count: int = PAGE + 1) -> list[M]:
    """Returns at most `count` rows of each list, in one query. Every list selects the same
    columns."""
    return [row for batch in _batches(lists) for row in _first_of_each(batch, count)]


def load_first_of_each(
    lists: Lists[M],
    count: int = PAGE + 1,
    *,
    columns: Callable[[QuerySet[M]], QuerySet[M]],
) -> list[M]:
    """Works like `first_of_each`, for rows with many columns or subqueries. `columns` adds these
    columns. The lists select ids only, so that Django builds the columns once and not for each
    list, and PostgreSQL plans them once."""
    rows: list[M] = []
    for batch in _batches(lists):
        ids, values = _union(batch, lambda each: each.values("pk")[:count])
        chosen = _model_of(lists)._default_manager.filter(pk__in=RawSQL(ids, values))  # noqa: S611 - as below
        rows += columns(chosen)
    return rows


def count_each(lists: Lists[Any], at_most: int) -> list[int]:
    """Counts the rows of each list up to `at_most`, because people do not look through more
    rows."""
    return [number for batch in _batches(lists) for number in _count_each(batch, at_most)]


def _batches(lists: Sequence[L]) -> Iterator[Sequence[L]]:
    """Splits the lists of a person who belongs to very many teams. Everyone else has one batch."""
    for begin in range(0, len(lists), SELECTS_AT_ONCE):
        yield lists[begin : begin + SELECTS_AT_ONCE]


def _first_of_each(lists: Lists[M], count: int) -> list[M]:
    sql, values = _union(lists, lambda each: each[:count])
    return list(_model_of(lists)._default_manager.raw(sql, values))


def _model_of(lists: Lists[M]) -> type[M]:
    first = lists[0]
    return first.query.model if isinstance(first, Variant) else first.model


def _union(lists: Lists[M], select: Select) -> tuple[str, list[Any]]:
    parts, values = _statements(lists, select)
    sql = " UNION ALL ".join(
        f"SELECT * FROM ({part}) s{number}"  # noqa: S608 - Django wrote it, values are parameters
        for number, part in enumerate(parts)
    )
    return sql, values


def _count_each(lists: Lists[Any], at_most: int) -> list[int]:
    parts, values = _statements(lists, lambda each: each.order_by().values("pk")[:at_most])
    sql = " UNION ALL ".join(
        f"SELECT {number}, COUNT(*) FROM ({part}) s{number}"  # noqa: S608 - as above
        for number, part in enumerate(parts)
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        counts = dict(cursor.fetchall())
    return [counts[number] for number in range(len(parts))]


def _statements(lists: Lists[Any], select: Select) -> tuple[list[str], list[Any]]:
    """Returns the statement of each list, limited by `select`, and the values of all statements."""
    compiled: dict[int, tuple[str, tuple[Any, ...]]] = {}
    parts: list[str] = []
    values: list[Any] = []
    for each in lists:
        rows, own = (each.query, each.values) if isinstance(each, Variant) else (each, {})
        if id(rows) not in compiled:
            compiled[id(rows)] = select(rows).query.sql_with_params()
        sql, params = compiled[id(rows)]
        parts.append(sql)
        values += bound(params, own)
    return parts, values
