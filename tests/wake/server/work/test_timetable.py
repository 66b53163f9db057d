"""Jobs that would find nothing do not start."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from wake.server.work.celery import app
from wake.server.work.due_jobs import due_jobs_of
from wake.server.work.timetable import Timetable, timetable_of

BEGAN = 1_000.0
INTERVALS = {"at once": 1.0, "soon": 3.0, "by the clock": 10.0}
ASKED = {"at once", "soon"}


class Database:
    """Stands for the database: says which jobs have due rows."""

    def __init__(self) -> None:
        self.due: Collection[str] = ()
        self.error: Exception | None = None

    def ask(self) -> Collection[str]:
        if self.error:
            raise self.error
        return self.due


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def timetable(database: Database) -> Timetable:
    """Returns a timetable whose jobs have all started."""
    timetable = Timetable(INTERVALS, asked=ASKED, ask=database.ask)
    assert timetable.start_due(at=BEGAN) == list(INTERVALS)
    return timetable


def test_a_job_without_due_rows_starts_once_a_minute(timetable: Timetable) -> None:
    started = Counter(
        job for second in range(1, 61) for job in timetable.start_due(at=BEGAN + second)
    )

    assert started == {"at once": 1, "soon": 1, "by the clock": 6}


def test_a_job_with_due_rows_starts_as_often_as_its_interval(
    timetable: Timetable, database: Database
) -> None:
    database.due = ASKED

    started = Counter(
        job for second in range(1, 61) for job in timetable.start_due(at=BEGAN + second)
    )

    assert started["at once"] == 60
    assert started["soon"] >= 20


def test_a_wake_up_starts_a_job_of_a_second_at_once(
    timetable: Timetable, database: Database
) -> None:
    database.due = {"at once"}

    assert timetable.start_due(at=BEGAN + 0.01) == ["at once"]
    assert timetable.start_due(at=BEGAN + 0.02) == ["at once"]


def test_a_job_that_runs_does_not_start_again(timetable: Timetable, database: Database) -> None:
    database.due = {"at once"}

    assert timetable.start_due(at=BEGAN + 1, busy=["at once"]) == []
    assert timetable.start_due(at=BEGAN + 2) == ["at once"]


def test_if_the_database_cannot_be_asked_all_jobs_start_at_their_intervals(
    timetable: Timetable, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.error = OperationalError("the connection is closed")

    with caplog.at_level(logging.WARNING):
        started = Counter(
            job for second in range(1, 31) for job in timetable.start_due(at=BEGAN + second)
        )

    assert started["at once"] == 30
    assert started["soon"] >= 10
    assert len(caplog.records) == 1, caplog.text
    database.error, database.due = None, ()
    assert timetable.start_due(at=BEGAN + 31) == []


@pytest.mark.django_db
def test_every_job_that_starts_often_is_asked_for() -> None:
    """A job that starts every ten seconds or less often costs less than its question is worth."""
    schedule = app.conf.beat_schedule
    often = {job for job, entry in schedule.items() if entry["schedule"] < 10}

    assert due_jobs_of(app).names == often


@pytest.mark.django_db(transaction=True)  # each question gives its connection back to the pool
def test_an_idle_server_asks_once_a_second_and_starts_few_jobs() -> None:
    """Before, it started 9 jobs a second, 560 a minute. Each of them asks the database."""
    timetable = timetable_of(app)
    timetable.start_due(at=BEGAN)

    with CaptureQueriesContext(connection) as asked:
        started = Counter(
            job for second in range(1, 601) for job in timetable.start_due(at=BEGAN + second)
        )

    assert len(asked) == 600
    assert sum(started.values()) < 500  # less than one a second
    assert max(started.values()) == started["wake.jobs.beat"] == 60
