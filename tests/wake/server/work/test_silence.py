"""A worker that hears nothing of beat sweeps by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from wake.server.work.silence import SILENT_SECONDS, Silence, Sweeper, hears_beat, report_beat

BEGAN = 1_000.0
SILENT = BEGAN + SILENT_SECONDS


class Beat:
    """Stands for beat and Redis together."""

    def __init__(self, *, is_there: bool = False) -> None:
        self._is_there = is_there

    def is_there(self) -> bool:
        return self._is_there


class Started:
    """Keeps the processes that were started in place of sweepers."""

    def __init__(self) -> None:
        self.sweepers: list[Sweeper] = []

    def __call__(self) -> Sweeper:
        self.sweepers.append(
            subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1)
        )
        return self.sweepers[-1]


@pytest.fixture
def started() -> Iterator[Started]:
    started = Started()
    yield started
    for sweeper in started.sweepers:
        sweeper.communicate()


def test_one_sweeper_runs_from_the_first_silence_to_the_next_job(started: Started) -> None:
    silence = Silence(started, Beat().is_there, began_at=BEGAN)

    silence.look(at=SILENT - 1)
    assert started.sweepers == []
    silence.look(at=SILENT)
    silence.look(at=SILENT + 60)
    (sweeper,) = started.sweepers
    assert sweeper.poll() is None
    silence.record_job(at=SILENT + 61)
    silence.look(at=SILENT + 61)

    assert sweeper.wait(10) == 0
    silence.look(at=SILENT + 62)
    assert len(started.sweepers) == 1


def test_a_worker_that_receives_jobs_starts_none(started: Started) -> None:
    silence = Silence(started, Beat().is_there, began_at=BEGAN)

    for second in range(60):
        silence.record_job(at=BEGAN + second)
        silence.look(at=BEGAN + second + 1)

    assert started.sweepers == []


def test_a_sweeper_that_ends_is_started_again_after_a_pause(started: Started) -> None:
    silence = Silence(started, Beat().is_there, began_at=BEGAN)
    silence.look(at=SILENT)
    started.sweepers[0].communicate()

    silence.look(at=SILENT + 1)
    assert len(started.sweepers) == 1
    silence.look(at=SILENT + SILENT_SECONDS)

    assert len(started.sweepers) == 2


def test_a_worker_without_jobs_starts_none_while_beat_runs(started: Started) -> None:
    """An idle beat sends fewer jobs than there may be workers."""
    silence = Silence(started, Beat(is_there=True).is_there, began_at=BEGAN)

    for second in range(60):
        silence.look(at=BEGAN + second)

    assert started.sweepers == []


def test_beat_leaves_a_sign_for_the_workers() -> None:
    before = hears_beat()

    report_beat()

    assert (before, hears_beat()) == (False, True)


def test_without_redis_no_sign_is_heard(redis_away: None) -> None:
    report_beat()

    assert hears_beat() is False
