"""Starts a sweeper when a worker gets no jobs from the broker, and stops it when jobs arrive.

Beat sends several jobs a second, so silence means that the broker or beat is away. The rows are the
queue, so a sweeper can do beat's work without beat and without a broker.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

SILENT_SECONDS = 15.0
LOOK_SECONDS = 1.0
HOME = Path(__file__).resolve().parents[3]

Sweeper = subprocess.Popen[bytes]


class Silence:
    """Decides when a sweeper runs. The worker's own process forks its pool, so it must not use the
    database itself: `start` starts another process."""

    def __init__(self, start: Callable[[], Sweeper], *, began_at: float) -> None:
        self._start = start
        self._heard_at = self._started_at = began_at
        self._sweeper: Sweeper | None = None

    def record_job(self, *, at: float) -> None:
        self._heard_at = at

    def look(self, *, at: float) -> None:
        is_running = self._sweeper is not None and self._sweeper.poll() is None
        if at - self._heard_at < SILENT_SECONDS:
            if self._sweeper and self._sweeper.stdin and not self._sweeper.stdin.closed:
                log.warning("Jobs arrive again: this worker's sweeper stops.")
                self._sweeper.stdin.close()
        elif not is_running and at - self._started_at >= SILENT_SECONDS:
            log.warning("No job arrived for %d s: this worker sweeps by itself.", SILENT_SECONDS)
            self._started_at = at
            self._sweeper = self._start()


def start_sweeper() -> Sweeper:
    """Starts a process that sweeps until its standard input is closed. If the worker is killed, the
    kernel closes that input."""
    command = [sys.executable, "-m", "wake.server.work.sweeper"]
    return subprocess.Popen(command, cwd=HOME, stdin=subprocess.PIPE)  # noqa: S603 - our own module


def listen(silence: Silence) -> None:
    """Watches the silence in a thread of its own."""
    threading.Thread(target=_listen, args=(silence,), name="silence", daemon=True).start()


def _listen(silence: Silence) -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        silence.look(at=time.monotonic())
