"""The sweeper runs the jobs of its timetable, and asks for more at once when it is woken."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from wake.server.work.sweeper import JOBS_AT_ONCE, Sweep
from wake.server.work.timetable import Timetable
from wake.server.work.watchdog import BUSY_SECONDS

PATIENCE = 60.0
NEVER = threading.TIMEOUT_MAX


class Rows:
    """Stands for due rows: says which jobs have some, and reports each question."""

    def __init__(self) -> None:
        self.due: Collection[str] = ()
        self.asked = threading.Semaphore(0)

    def ask(self) -> Collection[str]:
        self.asked.release()
        return self.due


class Job:
    """Waits until the test lets it end."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.ended = 0

    def run(self, _: str) -> None:
        self.started.release()
        assert self.may_end.acquire(timeout=PATIENCE)
        self.ended += 1


@contextmanager
def sweeping(rows: Rows, job: Job) -> Iterator[Sweep]:
    """Sweeps until the end of the block. Only a wake-up makes the sweep ask again."""
    timetable = Timetable({"job": 1.0}, asked={"job"}, ask=rows.ask)
    sweep = Sweep(timetable, job.run, pause=NEVER)
    thread = threading.Thread(target=sweep.sweep)
    thread.start()
    assert rows.asked.acquire(timeout=PATIENCE)
    assert job.started.acquire(timeout=PATIENCE), "each job starts once at the beginning"
    yield sweep
    sweep.stop()
    job.may_end.release()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_wake_up_starts_a_job_with_rows_at_once() -> None:
    rows, job = Rows(), Job()
    with sweeping(rows, job) as sweep:
        job.may_end.release()
        rows.due = ["job"]
        while not job.started.acquire(timeout=0.01):
            sweep.wake()  # the job may not have ended before

    assert job.ended == 2


def test_a_job_never_runs_twice_at_a_time() -> None:
    rows, job = Rows(), Job()
    with sweeping(rows, job) as sweep:
        rows.due = ["job"]
        for _ in range(3):
            sweep.wake()
            assert rows.asked.acquire(timeout=PATIENCE)

        assert not job.started.acquire(blocking=False)


def test_a_stop_waits_for_the_running_jobs() -> None:
    rows, job = Rows(), Job()
    with sweeping(rows, job) as sweep:
        sweep.stop()
        assert job.ended == 0

    assert job.ended == 1


def test_a_sweeper_whose_threads_are_all_stuck_is_ended_by_its_watchdog() -> None:
    rows, job = Rows(), Job()
    names = [f"job {number}" for number in range(JOBS_AT_ONCE + 1)]
    timetable = Timetable(dict.fromkeys(names, 1.0), asked=names, ask=rows.ask)
    sweep = Sweep(timetable, job.run, pause=NEVER)
    thread = threading.Thread(target=sweep.sweep)
    thread.start()
    for _ in range(JOBS_AT_ONCE):
        assert job.started.acquire(timeout=PATIENCE)
    sweep.wake()
    for _ in range(2):
        assert rows.asked.acquire(timeout=PATIENCE)  # so that every job has its place

    is_stuck = sweep.dog.is_stuck(at=time.monotonic() + BUSY_SECONDS)
    sweep.stop()
    for _ in names:
        job.may_end.release()
    thread.join(PATIENCE)

    assert is_stuck
    assert job.ended == len(names)
