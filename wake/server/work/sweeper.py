"""Runs beat's jobs at their intervals without a broker, for a worker that gets no jobs from the
broker (wake/server/work/silence.py).

Sweeps claim their rows, so any number of workers may sweep at the same time.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import django
from django.db import connection

from database.outages import is_away
from wake.api import log_context
from wake.server.work.celery import app

log = logging.getLogger(__name__)

JOBS_AT_ONCE = 4
TICK_SECONDS = 0.2
GRACE_SECONDS = 8  # the time for running jobs to end after SIGTERM


def sweep(intervals: Mapping[str, float], *, stop: threading.Event) -> None:
    """Runs each job when its interval is over, until `stop` is set. The same job never runs twice
    at a time. Running jobs then finish."""
    due_at = dict.fromkeys(intervals, 0.0)
    running: dict[str, Future[None]] = {}
    with ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
        while not stop.wait(TICK_SECONDS):
            now = time.monotonic()
            for job, seconds in intervals.items():
                if now >= due_at[job] and (job not in running or running[job].done()):
                    running[job] = pool.submit(_run, job)
                    due_at[job] = now + seconds


def _run(job: str) -> None:
    log_context.begin(log_context.LogFacts(job=job))
    try:
        app.signature(job)()  # runs the job in this process, not in a worker
    except Exception as error:
        if is_away(error):
            log.warning("%s failed: %r", job, error)
        else:
            log.exception("%s failed", job)
    finally:
        connection.close()


def main() -> None:
    django.setup()
    app.loader.import_default_modules()
    stop = threading.Event()

    def end_soon(*_: object) -> None:
        stop.set()
        signal.alarm(GRACE_SECONDS)

    signal.signal(signal.SIGTERM, end_soon)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the worker, which closes the pipe
    threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
    schedule = app.conf.beat_schedule
    sweep({job: entry["schedule"] for job, entry in schedule.items()}, stop=stop)


def _stop_at_end_of_input(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()


if __name__ == "__main__":
    main()
