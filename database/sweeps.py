"""Works through due rows, so that a failed or locked row does not delay the other rows.

The row is the queue: the next sweep finds the rows that this sweep leaves. A sweep ends early only
if the database is away, because every other row would fail as well.

Short work that only uses the database holds the lock of its row (`sweep`). Work that waits for
another server takes a lease of its row instead (`sweep_leased`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from math import inf
from typing import Any, TypeVar

from django.db import connection, models, transaction

from database.outages import is_away

log = logging.getLogger(__name__)

ASKED_EVERY_SECONDS = 0.1  # https://www.sqlite.org/c3ref/busy_timeout.html

Item = TypeVar("Item")
Row = TypeVar("Row", bound=models.Model)
DueRows = Callable[[Any], models.QuerySet[Any]]  # gets the time
Job = TypeVar("Job", bound=Callable[[], None])

_rows_of_jobs: dict[Callable[[], None], Sequence[DueRows]] = {}


def starts_for(*rows: DueRows) -> Callable[[Job], Job]:
    """Makes a job start only while one of these queries has rows. A query may find rows for which
    there is nothing to do; it must not leave rows out. It gets the time as a Parameter, because it
    is compiled once (wake/server/work/due_jobs.py). So it may compare the time, and cannot
    calculate with it."""

    def add(job: Job) -> Job:
        _rows_of_jobs[job] = rows
        return job

    return add


def rows_of(job: Callable[[], None]) -> Sequence[DueRows]:
    """Returns the queries of a job. There are none if the job starts at fixed intervals."""
    return _rows_of_jobs.get(job, ())


Narrow = Callable[[models.QuerySet[Any]], models.QuerySet[Any]]
_narrows: list[Narrow] = []


def register(narrow: Narrow) -> None:
    """Registers the function that leaves rows out of each sweep."""
    _narrows[:] = [narrow]


def to_work_on(rows: models.QuerySet[Row]) -> models.QuerySet[Row]:
    """Leaves out rows on which no job may work now."""
    for narrow in _narrows:
        rows = narrow(rows)
    return rows


def sweep(
    due: models.QuerySet[Row],
    work: Callable[[Row], int],
    *,
    what: str,
    at_once: int,
    locks: Sequence[str] = ("self",),
    postpone: Callable[[Any], object] | None = None,
) -> int:
    """Calls `work` with each of the first `at_once` rows of `due`, and returns the sum of the
    results.

    `due` is ordered by its due time. Each row is claimed and worked on in a transaction of its own.
    `locks` names the rows that a claim locks, as in `select_for_update(of=...)`. Name all rows that
    `work` would wait for: if another transaction has locked one of them, the due row is left to the
    next sweep. `postpone` gets the id of a failed row, and moves its due time.
    """

    @transaction.atomic
    def claim_and_work(pk: Any) -> int:
        row = _unlocked(due, locks).filter(pk=pk).first()
        return 0 if row is None else work(row)

    return each(_ids(due, locks, at_once), claim_and_work, what=what, postpone=postpone)


def sweep_together(
    due: models.QuerySet[Row],
    work: Callable[[Sequence[Row]], int],
    *,
    what: str,
    at_once: int,
    locks: Sequence[str] = ("self",),
    postpone: Callable[[Any], object] | None = None,
) -> int:
    """Works like `sweep`, for work that is cheaper for many rows together. If the work on all rows
    succeeds, there is only one transaction. Otherwise each row has its own transaction."""

    @transaction.atomic
    def claim_and_work(pks: Sequence[Any]) -> int:
        return work(list(_unlocked(due, locks).filter(pk__in=pks)))

    return together(_ids(due, locks, at_once), claim_and_work, what=what, postpone=postpone)


@dataclass(frozen=True, slots=True)
class Lease:
    """Lets one worker have a row without holding a lock: the due time in `column` moves to the end
    of the lease. If the worker dies, the row is due again when the lease ends. So the work may be
    done twice, but is never lost."""

    column: str
    length: timedelta

    def claim(self, due: models.QuerySet[Row], *, at: datetime, at_once: int = 1) -> list[Row]:
        """Claims the first rows of `due` that no other transaction holds, and commits."""
        if not due.exists():  # mostly no row is due, and SQLite would lock the file to look for one
            return []
        with transaction.atomic():
            rows = list(_unlocked(due, ("self",))[:at_once])
            for row in rows:
                setattr(row, self.column, at + self.length)
                row.save(update_fields=[self.column])
        return rows

    def held(self, row: Row) -> models.QuerySet[Row]:
        """Selects the claimed row. Selects nothing if the lease is lost. A lease is lost if it
        ended and another worker has the row, or if a person has chosen another time."""
        rows: models.QuerySet[Row] = type(row)._default_manager.filter(pk=row.pk)
        return rows.filter(**{self.column: getattr(row, self.column)})


def sweep_leased(
    due: Callable[[datetime], models.QuerySet[Row]],
    work: Callable[[Row], int],
    *,
    lease: Lease,
    what: str,
    clock: Callable[[], datetime],
    at_once: int | None = None,
    postpone: Callable[[Row], object] | None = None,
    stop_on: tuple[type[Exception], ...] = (),
    seconds: float = inf,
) -> int:
    """Calls `work` with each row of `due`, outside any transaction, and returns the sum of the
    results.

    `due` gets the time and is ordered by its due time. Each row is claimed just before its work, so
    a slow row delays no other worker. The other arguments are the same as in `each`.
    """

    def claim() -> Row | None:
        at = clock()
        return next(iter(lease.claim(due(at), at=at)), None)

    rows = islice(iter(claim, None), at_once)
    return each(rows, work, what=what, postpone=postpone, stop_on=stop_on, seconds=seconds)


def give_way(*, since: float) -> None:
    """Lets other writers of SQLite begin before the next of several long transactions. `since` is
    the instant of `time.monotonic()` at which the last transaction began. SQLite has no queue of
    writers. A waiting writer asks again after ASKED_EVERY_SECONDS at most. Without this pause, the
    writer would find the file locked each time."""
    if connection.vendor == "sqlite" and time.monotonic() - since > ASKED_EVERY_SECONDS:
        time.sleep(1.1 * ASKED_EVERY_SECONDS)


def each(
    items: Iterable[Item],
    work: Callable[[Item], int],
    *,
    what: str,
    postpone: Callable[[Item], object] | None = None,
    stop_on: tuple[type[Exception], ...] = (),
    seconds: float = inf,
) -> int:
    """Calls `work` with each item, and returns the sum of the results.

    An item that fails is postponed, and one line of the log reports all failures. An exception of
    `stop_on` ends the sweep without a line in the log, and after `seconds` no more items are taken.
    `items` may claim each item when it is needed: `iter(claim, None)`.
    """
    stop_at = time.monotonic() + seconds
    remaining = iter(items)
    done, failures = 0, []
    while time.monotonic() < stop_at and (item := next(remaining, None)) is not None:
        try:
            done += work(item)
        except stop_on:
            break
        except Exception as error:
            if is_away(error):
                raise
            failures.append((item, error))
            if postpone is not None:
                _try_to_postpone(item, postpone)
    if failures:
        _log(failures, what)
    return done


def together(
    items: Sequence[Item],
    work: Callable[[Sequence[Item]], int],
    *,
    what: str,
    postpone: Callable[[Item], object] | None = None,
) -> int:
    """Calls `work` with all items together. If that call fails, calls `work` with each item
    separately."""
    if not items:
        return 0
    try:
        return work(items)
    except Exception as error:
        if is_away(error):
            raise
    return each(items, lambda item: work([item]), what=what, postpone=postpone)


def _ids(due: models.QuerySet[Row], locks: Sequence[str], at_once: int) -> list[Any]:
    """Returns the ids of the first due rows that no other transaction has locked."""
    if not due.exists():  # usually no row is due, and SQLite would lock the file to look for one
        return []
    with transaction.atomic():
        return [row.pk for row in _unlocked(due, locks)[:at_once]]


def _unlocked(due: models.QuerySet[Row], locks: Sequence[str]) -> models.QuerySet[Row]:
    return to_work_on(due).select_for_update(skip_locked=True, of=tuple(locks), no_key=True)


def _try_to_postpone(item: Item, postpone: Callable[[Item], object]) -> None:
    try:
        postpone(item)
    except Exception as error:
        if is_away(error):
            raise
        log.exception("%s cannot be postponed", _name(item))


def _log(failures: Sequence[tuple[object, Exception]], what: str) -> None:
    """Logs the first failure with its traceback. Only counts the other failures, because their
    tracebacks would fill the log."""
    item, error = failures[0]
    log.error(
        "%s %s failed and will be tried again; the first is %s",
        len(failures),
        what,
        _name(item),
        exc_info=error,
    )


def _name(item: object) -> object:
    """Returns only the id, because other columns may be content, which is never logged."""
    row = item[0] if isinstance(item, tuple) else item
    return getattr(row, "pk", row)
