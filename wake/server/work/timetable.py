"""Decides which jobs start now, for beat and for the sweeper.

It asks the database in one statement which jobs have due rows (wake/server/work/due_jobs.py). The
other jobs do not start. A few jobs have no such question, and start at fixed intervals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from math import inf

from celery import Celery
from django.db import connection

from database.clock import database_now
from database.outages import is_away
from wake.server.work.due_jobs import due_jobs_of

log = logging.getLogger(__name__)

ASK_SECONDS = 1.0
# A job starts this often without being asked for. So if its question leaves out rows, these rows
# wait for a minute at most.
UNASKED_SECONDS = 60.0
SILENT_SECONDS = 60.0


class Timetable:
    """Remembers when each job last started. `intervals` has the seconds between two starts of each
    job. `ask` returns those of the jobs in `asked` that have due rows."""

    def __init__(
        self,
        intervals: Mapping[str, float],
        *,
        asked: Collection[str],
        ask: Callable[[], Collection[str]],
    ) -> None:
        self._intervals = intervals
        self._asked = asked
        self._ask = ask
        self._started_at = dict.fromkeys(intervals, -inf)
        self._silent_until = -inf

    def start_due(self, *, at: float, busy: Collection[str] = ()) -> list[str]:
        """Returns the jobs that start at this instant of `time.monotonic()`, and remembers that
        they started. Leaves out the `busy` ones, which still run."""
        with_rows = self._jobs_with_rows(at)
        due = [
            job
            for job, started_at in self._started_at.items()
            if job not in busy and at - started_at >= self._pause(job, with_rows)
        ]
        self._started_at.update(dict.fromkeys(due, at))
        return due

    def _pause(self, job: str, with_rows: Collection[str]) -> float:
        """Returns the seconds between two starts of the job. The database is asked once a second,
        so a job that may start once a second starts at once after a wake-up."""
        if job not in self._asked:
            return self._intervals[job]
        return self._intervals[job] - ASK_SECONDS if job in with_rows else UNASKED_SECONDS

    def _jobs_with_rows(self, at: float) -> Collection[str]:
        """Returns all jobs if the database cannot be asked, so that they start at their intervals
        and report what is wrong."""
        try:
            return self._ask()
        except Exception as error:
            if at >= self._silent_until:
                self._silent_until = at + SILENT_SECONDS
                log.warning(
                    "Which jobs have due rows is unknown, so all start at their intervals; the "
                    "next line comes in a minute at the earliest: %r",
                    error,
                    exc_info=None if is_away(error) else error,
                )
            return self._asked


def timetable_of(app: Celery) -> Timetable:
    """Returns the timetable of beat's schedule."""
    due_jobs = due_jobs_of(app)

    def ask() -> Collection[str]:
        with returned_connection():
            return due_jobs.ask(at=database_now())

    intervals = {job: entry["schedule"] for job, entry in app.conf.beat_schedule.items()}
    return Timetable(intervals, asked=due_jobs.names, ask=ask)


@contextmanager
def returned_connection() -> Iterator[None]:
    """Gives this thread's connection back to the pool of PostgreSQL. A connection to SQLite stays
    open, because opening it takes longer than most jobs, unless something failed."""
    try:
        yield
    except BaseException:
        connection.close()
        raise
    if connection.vendor != "sqlite":
        connection.close()
