"""The watchdog ends a worker that takes no jobs although some wait, and ends no other worker."""

from __future__ import annotations

import os
import subprocess
import sys

from wake.server.work.watchdog import BUSY_SECONDS, IDLE_SECONDS, LOOK_SECONDS, Watchdog

BEGAN = 1_000.0
LATER = BEGAN + IDLE_SECONDS
STUCK = """
import logging, sys, time
from celery.utils.log import LoggingProxy
from wake.server.work.watchdog import Watchdog, watch
logging.basicConfig()
sys.stderr = LoggingProxy(logging.getLogger("stderr"))  # as in a worker
watch(Watchdog(lambda: 1, lambda: 0, began_at=time.monotonic() - 1_000))
time.sleep(60)
"""


def some() -> int:
    return 3


def none() -> int:
    return 0


def refused() -> int:
    raise ConnectionRefusedError("Connection refused")


def test_an_idle_worker_that_takes_no_jobs_is_stuck() -> None:
    dog = Watchdog(some, none, began_at=BEGAN)

    assert not dog.is_stuck(at=LATER - 1)
    assert dog.is_stuck(at=LATER)


def test_a_busy_worker_is_not_stuck_within_the_time_of_a_job() -> None:
    dog = Watchdog(some, some, began_at=BEGAN)

    assert not dog.is_stuck(at=BEGAN + BUSY_SECONDS - 1)
    assert dog.is_stuck(at=BEGAN + BUSY_SECONDS)


def test_a_worker_that_takes_jobs_or_has_none_is_not_stuck() -> None:
    taking, idle = Watchdog(some, none, began_at=BEGAN), Watchdog(none, none, began_at=BEGAN)
    taking.record_job(at=LATER - 1)

    assert not taking.is_stuck(at=LATER)
    assert not idle.is_stuck(at=LATER + 3_600)


def test_a_worker_is_not_stuck_when_jobs_come_after_a_pause() -> None:
    waiting = 0
    dog = Watchdog(lambda: waiting, none, began_at=BEGAN)
    assert not dog.is_stuck(at=LATER + 3_600)

    waiting = 3

    assert not dog.is_stuck(at=LATER + 3_600 + LOOK_SECONDS)
    assert dog.is_stuck(at=LATER + 3_600 + IDLE_SECONDS)


def test_while_the_broker_is_away_no_worker_is_reported_as_stuck() -> None:
    assert not Watchdog(refused, none, began_at=BEGAN).is_stuck(at=LATER)


def test_the_process_ends_although_its_main_thread_is_blocked() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, timeout=50)

    assert done.returncode == os.EX_SOFTWARE
    assert b"Jobs are waiting and this worker takes none" in done.stderr
