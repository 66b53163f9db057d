"""Starts a sweeper when a worker hears nothing of beat, and stops it when it hears of beat again.

Beat leaves a sign in Redis once a second, because an idle beat has no job for each worker. Silence
means that Redis or beat is away. The rows are the queue, so a sweeper can do beat's work without
beat and without a broker.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.core.cache import cache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

SILENT_SECONDS = 12.0
LOOK_SECONDS = 1.0
SIGN = "beat"
SIGN_SECONDS = 3
HOME = Path(__file__).resolve().parents[3]

Sweeper = subprocess.Popen[bytes]


class Silence:
    """Decides when a sweeper runs. The worker's own process forks its pool, so it must not use the
    database itself: `start` starts another process. `hears_beat` returns whether beat runs and
    reaches Redis."""

    def __init__(
        self, start: Callable[[], Sweeper], hears_beat: Callable[[], bool], *, began_at: float
    ) -> None:
        self._start = start
        self._hears_beat = hears_beat
        self._heard_at = self._started_at = began_at
        self._sweeper: Sweeper | None = None

    def record_job(self, *, at: float) -> None:
        self._heard_at = at

    def look(self, *, at: float) -> None:
        if at - self._heard_at >= LOOK_SECONDS and self._hears_beat():
            self._heard_at = at
        is_running = self._sweeper is not None and self._sweeper.poll() is None
        if at - self._heard_at < SILENT_SECONDS:
            if self._sweeper and self._sweeper.stdin and not self._sweeper.stdin.closed:
                log.warning("Beat is back: this worker's sweeper stops.")
                self._sweeper.stdin.close()
        elif not is_running and at - self._started_at >= SILENT_SECONDS:
            log.warning("No sign of beat for %d s: this worker sweeps by itself.", SILENT_SECONDS)
            self._started_at = at
            self._sweeper = self._start()


def start_sweeper() -> Sweeper:
    """Starts a process that sweeps until its standard input is closed. If the worker is killed, the
    kernel closes that input."""
    command = [sys.executable, "-m", "wake.server.work.sweeper", "--until-end-of-input"]
    return subprocess.Popen(command, cwd=HOME, stdin=subprocess.PIPE)  # noqa: S603 - our own module


def report_beat() -> None:
    """Leaves the sign that beat runs and can send jobs."""
    with suppress(RedisError, OSError):
        cache.set(SIGN, 1, timeout=SIGN_SECONDS)


def hears_beat() -> bool:
    with suppress(RedisError, OSError):
        return cache.get(SIGN) is not None
    return False


def listen(silence: Silence) -> None:
    """Watches the silence in a thread of its own."""
    threading.Thread(target=_listen, args=(silence,), name="silence", daemon=True).start()


def _listen(silence: Silence) -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        silence.look(at=time.monotonic())
