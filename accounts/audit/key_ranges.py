"""Splits a table into ranges of its primary key, for checks that read the whole table. PostgreSQL
ends a statement after ten seconds, and millions of rows may take longer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet


class KeyRange(NamedTuple):
    """Has the keys above `after`, up to and including `until`. None means no limit."""

    after: Any = None
    until: Any = None

    def of(self, column: str) -> Q:
        """Returns the condition that this column is in the range. In an anti-join, both tables need
        this condition. Otherwise PostgreSQL may read the second table from its beginning."""
        limits = {f"{column}__gt": self.after, f"{column}__lte": self.until}
        return Q(**{lookup: limit for lookup, limit in limits.items() if limit is not None})


ALL = KeyRange()


def key_ranges(rows: QuerySet[Any], *, at_once: int, within: KeyRange = ALL) -> Iterator[KeyRange]:
    """Splits a range into ranges with `at_once` rows each. The last range has the remaining
    rows."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    while last := list(keys.filter(within.of("pk"))[at_once - 1 : at_once]):
        yield within._replace(until=last[0])
        within = within._replace(after=last[0])
    yield within
