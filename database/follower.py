"""Reads rows in the order in which they were committed, and remembers how far it has read.

The rows belong to sources, as deliveries belong to an agent. A source is locked while it hands out
a stamp, until the commit, so stamps are in commit order (wake/models/cursor.py). Reading on from
the last stamp misses no row, even if its transaction was slow to commit.

Each job that follows has a table of its own, with a row for each source, and locks that row while
it reads. So two workers never read the same source for the same job, and jobs do not wait for each
other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from database import outages, sweeps
from database.clock import EPOCH, microseconds

log = logging.getLogger(__name__)

MAX_SOURCES = 100
MAX_ROWS = 200
RETRY_AFTER = timedelta(minutes=1)
NOTHING_ELSE = Q(pk__in=())


class ReadUntil(models.Model):
    """Marks how far a job has read the rows of one source: the last stamp, in microseconds since
    1970. Each subclass has the source as its primary key."""

    activity_us = models.BigIntegerField(default=0)
    # After a failure, the source is not read again before this time.
    postponed_until = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.pk} until {self.activity_us}"


Source = TypeVar("Source", bound=models.Model)
Place = TypeVar("Place", bound=ReadUntil)
Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True, slots=True)
class ReadPlan(Generic[Row]):
    """Holds what to read of a source, and the work for its rows. Rows of all `queries` are read
    together. Rows with stamps up to `since` are left out. `after` is called once the place has
    moved."""

    queries: Sequence[models.QuerySet[Row]]
    work: Callable[[Sequence[Row]], object]
    since: datetime = EPOCH
    after: Callable[[], object] | None = None


def follow(
    sources: models.QuerySet[Source],
    places: type[Place],
    begin: Callable[[Source, Place], ReadPlan[Row] | None],
    *,
    what: str,
    at: datetime,
    also: Q = NOTHING_ELSE,
    max_sources: int = MAX_SOURCES,
    max_rows: int = MAX_ROWS,
) -> int:
    """Reads the new rows of those `sources` whose last stamp is after their stored place, and of
    those that `also` selects. Returns how many rows it read.

    `begin` gets each source with its locked place. `begin` returns None if the source's new rows
    need no work. A source that fails is postponed, and the other sources are still read. A row that
    fails is left out, with a line in the log, if other rows read with it succeed.
    """

    def read(source: Source) -> int:
        try:
            return _read_on(source, places=places, begin=begin, what=what, max_rows=max_rows)
        except Exception as error:
            if not outages.will_pass(error):
                _postpone(source, places=places, until=at + RETRY_AFTER)
            raise

    rows = behind(sources, places, at=at, also=also)[:max_sources]
    return sweeps.each(list(rows), read, what=what)


def lock(places: type[Place], source_id: Any, *, wait: bool) -> Place | None:
    """Locks the place of a source for the rest of the transaction. Returns None if `wait` is False
    and another worker holds the lock."""
    rows = places._default_manager
    rows.get_or_create(pk=source_id)
    return rows.select_for_update(skip_locked=not wait).filter(pk=source_id).first()


def behind(
    sources: models.QuerySet[Source],
    places: type[Place],
    *,
    at: datetime,
    also: Q = NOTHING_ELSE,
) -> models.QuerySet[Source]:
    """Returns the sources that `follow` reads at this time."""
    source: Any = places._meta.pk
    place = source.related_query_name()
    is_new = Q(activity_us__gt=F("until"))
    postponed = f"{place}__postponed_until"
    is_due = Q(**{f"{postponed}__isnull": True}) | Q(**{f"{postponed}__lte": at})
    with_place: Any = sweeps.to_work_on(sources).alias(until=Coalesce(f"{place}__activity_us", 0))
    rows: models.QuerySet[Source] = with_place.filter(is_new | also, is_due)
    return rows.order_by("activity_us")


@transaction.atomic
def _read_on(
    source: Any,
    *,
    places: type[Place],
    begin: Callable[[Any, Place], Any],
    what: str,
    max_rows: int,
) -> int:
    place = lock(places, source.pk, wait=False)
    if place is None:
        return 0
    # Read after the lock and before the rows, because every row up to this stamp is then committed.
    source.refresh_from_db(fields=["activity_us"])
    reading: ReadPlan[Any] | None = begin(source, place)
    rows: list[Any] = []
    if reading:
        rows = _next_rows(reading, place.activity_us, source.activity_us, max_rows=max_rows)
    if reading and rows:
        _work_through(rows, reading.work, what=what)
    is_full = len(rows) == max_rows
    place.activity_us = microseconds(rows[-1].activity_at) if is_full else source.activity_us
    place.postponed_until = None
    if reading and reading.after:
        reading.after()
    place.save()
    return len(rows)


def _next_rows(reading: ReadPlan[Row], since_us: int, until_us: int, *, max_rows: int) -> list[Row]:
    since, until = (EPOCH + timedelta(microseconds=us) for us in (since_us, until_us))
    new = Q(activity_at__gt=max(since, reading.since), activity_at__lte=until)
    rows: list[Any] = []
    for query in reading.queries:
        rows += query.filter(new).order_by("activity_at")[:max_rows]
    return sorted(rows, key=lambda row: row.activity_at)[:max_rows]


def _work_through(
    rows: Sequence[Row], work: Callable[[Sequence[Row]], object], *, what: str
) -> None:
    """Works on all rows together. If that fails, works on each row separately and leaves out the
    rows that fail. If every row fails, the rows are hardly the reason, so none is left out."""
    try:
        with transaction.atomic():
            work(rows)
    except Exception as error:
        if outages.will_pass(error) or len(rows) == 1:
            raise
        _work_alone(rows, work, what=what)


def _work_alone(rows: Sequence[Row], work: Callable[[Sequence[Row]], object], *, what: str) -> None:
    failures: list[tuple[Row, Exception]] = []
    for row in rows:
        try:
            with transaction.atomic():
                work([row])
        except Exception as error:
            if outages.will_pass(error):
                raise
            failures.append((row, error))
    if len(failures) == len(rows):
        raise failures[0][1]
    if failures:
        _log(failures, what)


def _log(failures: Sequence[tuple[models.Model, Exception]], what: str) -> None:
    """Logs the first failure with its traceback, and the ids of all rows that were left out."""
    ids = ", ".join(str(row.pk) for row, _ in failures)
    log.error("Left out of %s, because it failed: %s", what, ids, exc_info=failures[0][1])


def _postpone(source: models.Model, *, places: type[ReadUntil], until: datetime) -> None:
    places._default_manager.update_or_create(pk=source.pk, defaults={"postponed_until": until})
