"""A worker that takes nothing though jobs wait is ended, and no other is."""

from __future__ import annotations

import os
import subprocess
import sys

from wake.watchdog import PATIENCE_SECONDS, Watchdog

BEGAN = 1_000.0
LATER = BEGAN + PATIENCE_SECONDS
STUCK = """
import time
from wake.watchdog import Watchdog, watch
watch(Watchdog(lambda: 1, began_at=time.monotonic() - 1_000))
time.sleep(60)
"""


def test_a_worker_is_stuck_that_takes_nothing_for_two_minutes_while_jobs_wait() -> None:
    dog = Watchdog(lambda: 3, began_at=BEGAN)

    assert not dog.is_stuck(at=LATER - 1)
    assert dog.is_stuck(at=LATER)


def test_who_takes_jobs_or_has_none_to_take_is_not_stuck() -> None:
    busy, idle = Watchdog(lambda: 3, began_at=BEGAN), Watchdog(lambda: 0, began_at=BEGAN)
    busy.note_job(at=LATER - 1)

    assert not busy.is_stuck(at=LATER)
    assert not idle.is_stuck(at=LATER + 3_600)


def test_while_the_broker_is_away_nobody_is_called_stuck() -> None:
    def refused() -> int:
        raise ConnectionRefusedError("Connection refused")

    assert not Watchdog(refused, began_at=BEGAN).is_stuck(at=LATER)


def test_the_process_ends_though_its_main_thread_does_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, timeout=50)

    assert done.returncode == os.EX_SOFTWARE
    assert b"Jobs wait and this worker takes none" in done.stderr
