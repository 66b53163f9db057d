"""Ends a worker that takes no job though some wait, so that whoever runs it starts it again.

Celery's Redis consumer may come back from a lost connection and never take anything again, in a
process that lives and is idle (celery/celery#8384; wake/redis_broker.py takes away the cause that
we know). Nothing is lost, because the rows are the queue; but nobody would send them.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

# Beat rings every second: a worker that has its hands free takes something at once.
IDLE_SECONDS = 15.0
# Twice what a job may take: a pool whose processes are all busy takes nothing either.
BUSY_SECONDS = 120.0
LOOK_SECONDS = 5.0


class Watchdog:
    """`waiting` says how many jobs lie in the broker, or raises where it cannot be asked; `working`
    says how many this worker is at."""

    def __init__(
        self, waiting: Callable[[], int], working: Callable[[], int], *, began_at: float
    ) -> None:
        self._waiting = waiting
        self._working = working
        # Since when something may have waited that was not taken.
        self._since = began_at

    def note_job(self, *, at: float) -> None:
        self._since = at

    def is_stuck(self, *, at: float) -> bool:
        if at - self._since < LOOK_SECONDS:
            return False
        try:
            waits = self._waiting() > 0
        except Exception as error:
            log.warning("The broker cannot be asked what waits: %s", error)
            waits = False
        if not waits:
            self._since = at
        return at - self._since >= (BUSY_SECONDS if self._working() else IDLE_SECONDS)


def watch(dog: Watchdog) -> None:
    """For ever, from a thread of its own."""
    threading.Thread(target=_watch, args=(dog,), name="watchdog", daemon=True).start()


def _watch(dog: Watchdog) -> None:
    while not dog.is_stuck(at=time.monotonic()):
        time.sleep(LOOK_SECONDS)
    log.critical("Jobs wait and this worker takes none: it ends, to be started again.")
    logging.shutdown()
    faulthandler.dump_traceback()  # where it stuck
    os._exit(os.EX_SOFTWARE)  # its main thread is what is stuck
