"""Runs beat's jobs in one process, without a broker and without beat.

Without Redis it is the worker. With Redis, a worker starts it while it hears nothing from the
broker (wake/server/work/silence.py). Jobs claim their rows, so several processes may sweep at the
same time.
"""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

import django
from celery.signals import beat_init, worker_shutdown
from django.db import connection

from database import notifications
from database.outages import is_away
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.server.work.celery import app
from wake.server.work.timetable import ASK_SECONDS, Timetable, returned_connection, timetable_of
from wake.server.work.watchdog import Watchdog, watch

log = logging.getLogger("wake.server.work.sweeper")  # this module runs as __main__

JOBS_AT_ONCE = 4
GRACE_SECONDS = 8  # the time for running jobs to end after SIGTERM
UNTIL_END_OF_INPUT = "--until-end-of-input"


class Sweep:
    """Starts the jobs of a timetable in threads: every `pause` seconds, and after `wake`. The same
    job never runs twice at a time. `run` runs one job and raises nothing."""

    def __init__(
        self, timetable: Timetable, run: Callable[[str], object], *, pause: float = ASK_SECONDS
    ) -> None:
        self._timetable = timetable
        self._run = run
        self._pause = pause
        self._running: dict[str, Future[object]] = {}
        self._woken = threading.Event()
        self._is_stopped = False
        self.dog = Watchdog(self._waiting, self._working, began_at=time.monotonic())

    def wake(self) -> None:
        self._woken.set()

    def stop(self, *_: object) -> None:
        """Makes `sweep` return when the running jobs have ended."""
        self._is_stopped = True
        self._woken.set()

    def sweep(self) -> None:
        with ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
            while not self._is_stopped:
                self._woken.clear()
                busy = [job for job, future in self._running.items() if not future.done()]
                for job in self._timetable.start_due(at=time.monotonic(), busy=busy):
                    self._running[job] = pool.submit(self._start, job)
                self._woken.wait(self._pause)

    def _start(self, job: str) -> object:
        self.dog.record_job(at=time.monotonic())
        return self._run(job)

    def _waiting(self) -> int:
        started = self._running.values()
        return sum(not future.running() and not future.done() for future in list(started))

    def _working(self) -> int:
        return sum(future.running() for future in list(self._running.values()))


def main() -> None:
    django.setup()
    sweep = Sweep(timetable_of(app), _run)
    gc.collect()
    gc.freeze()  # what is loaded now is never freed

    def end_soon(*_: object) -> None:
        sweep.stop()
        signal.alarm(GRACE_SECONDS)

    signal.signal(signal.SIGTERM, end_soon)
    if UNTIL_END_OF_INPUT in sys.argv:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the worker, too
        threading.Thread(target=_stop_at_end_of_input, args=(sweep,), daemon=True).start()
    else:
        signal.signal(signal.SIGINT, end_soon)
    watch(sweep.dog)
    beat_init.send(sender=sweep)  # this process does beat's part (wake/server/metrics/serving.py)
    log.info("The worker is ready.")
    if connection.vendor == "sqlite":
        # The worker hears of every commit, so callbacks and mails leave without waiting for the
        # next second.
        with notifications.listening("work", sweep.wake):
            sweep.sweep()
    else:
        sweep.sweep()
    worker_shutdown.send(sender=sweep)  # wake/server/telemetry/otlp.py sends the last spans


def _run(job: str) -> None:
    facts = log_context.begin(LogFacts(str(uuid4()), job=job))
    try:
        with returned_connection():
            app.signature(job)()  # runs the job in this process, not in a worker
    except Exception as error:
        if is_away(error):
            log.warning("%s failed: %r", job, error)
        else:
            log.exception("%s failed", job)
    finally:
        log_context.end(facts)


def _stop_at_end_of_input(sweep: Sweep) -> None:
    sys.stdin.buffer.read()
    sweep.stop()


if __name__ == "__main__":
    main()
