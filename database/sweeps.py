"""Works through due rows, so that a row that fails or is locked holds no other row back.

The row is the queue: what a sweep leaves, the next one finds. A sweep ends early only where the
database is away, because then every other row would fail, too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, TypeVar

from django.db import connection, models, transaction

from database.outages import is_away

log = logging.getLogger(__name__)

ASKED_EVERY_SECONDS = 0.1  # https://www.sqlite.org/c3ref/busy_timeout.html

Item = TypeVar("Item")
Row = TypeVar("Row", bound=models.Model)


def sweep(
    due: models.QuerySet[Row],
    work: Callable[[Row], int],
    *,
    what: str,
    at_once: int,
    locks: Sequence[str] = ("self",),
    postpone: Callable[[Any], object] | None = None,
) -> int:
    """Calls `work` with each of the first `at_once` rows of `due`, and returns the sum of what that
    returned.

    `due` is ordered by its due time. Each row is claimed and worked on in a transaction of its own.
    `locks` names the rows that a claim locks, as in `select_for_update(of=...)`. Name all that
    `work` would wait for: while another transaction holds one of them, the row is left to the next
    sweep. `postpone` gets the id of a row that failed, and moves its due time.
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
    """Works like `sweep`, for work that is cheaper for many rows at once: in one transaction if all
    of it succeeds, otherwise each row in a transaction of its own."""

    @transaction.atomic
    def claim_and_work(pks: Sequence[Any]) -> int:
        return work(list(_unlocked(due, locks).filter(pk__in=pks)))

    return together(_ids(due, locks, at_once), claim_and_work, what=what, postpone=postpone)


def give_way(*, since: float) -> None:
    """Lets other writers of SQLite begin before the next of several long transactions; the last one
    ran since that instant of `time.monotonic()`. SQLite has no queue of writers: each asks again at
    the latest after ASKED_EVERY_SECONDS, and found the file locked again each time."""
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
    """Calls `work` with each item, and returns the sum of what that returned.

    An item that fails is postponed, and one line of the log reports all failures. An exception of
    `stop_on` ends the sweep without a line in the log, and after `seconds` no more items are taken.
    Items may be claimed as they are asked for: `iter(claim, None)`.
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
    """Calls `work` with all of the items. If that fails, calls it with each of them alone."""
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
    if not due.exists():  # mostly there are none, and SQLite would lock the file to look
        return []
    with transaction.atomic():
        return [row.pk for row in _unlocked(due, locks)[:at_once]]


def _unlocked(due: models.QuerySet[Row], locks: Sequence[str]) -> models.QuerySet[Row]:
    return due.select_for_update(skip_locked=True, of=tuple(locks), no_key=True)


def _try_to_postpone(item: Item, postpone: Callable[[Item], object]) -> None:
    try:
        postpone(item)
    except Exception as error:
        if is_away(error):
            raise
        log.exception("%s cannot be postponed", _name(item))


def _log(failures: Sequence[tuple[object, Exception]], what: str) -> None:
    """Logs the first failure with its traceback and counts the others, which would fill the log."""
    item, error = failures[0]
    log.error(
        "%s %s failed and will be tried again; the first is %s",
        len(failures),
        what,
        _name(item),
        exc_info=error,
    )


def _name(item: object) -> object:
    """Returns only the id, because the rest of a row may be content, which is never logged."""
    row = item[0] if isinstance(item, tuple) else item
    return getattr(row, "pk", row)
