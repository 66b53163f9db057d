"""Ends a worker that takes no jobs although some wait, so that its supervisor starts a new one.

After a lost connection, Celery's Redis consumer may never take a job again, although its process is
alive and idle (celery/celery#8384). wake/server/work/redis_broker.py removes the known cause.
Nothing is lost, because the rows are the queue, but nothing would be sent.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

# Beat adds jobs every few seconds, and an idle worker takes one immediately.
IDLE_SECONDS = 15.0
# Twice the time limit of a job, because a pool whose processes are all busy takes no jobs either.
BUSY_SECONDS = 120.0
LOOK_SECONDS = 5.0


class Watchdog:
    """Decides whether a worker is stuck. `waiting` returns how many jobs are in the broker, or
    raises if the broker cannot be reached. `working` returns how many jobs this worker runs."""

    def __init__(
        self, waiting: Callable[[], int], working: Callable[[], int], *, began_at: float
    ) -> None:
        self._waiting = waiting
        self._working = working
        # Since when a job may have been waiting.
        self._since = began_at

    def record_job(self, *, at: float) -> None:
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
    """Starts to watch, in a thread of its own."""
    threading.Thread(target=_watch, args=(dog,), name="watchdog", daemon=True).start()


def _watch(dog: Watchdog) -> None:
    while not dog.is_stuck(at=time.monotonic()):
        time.sleep(LOOK_SECONDS)
    log.critical(
        "Jobs are waiting and this worker takes none. It exits, so that it is started again."
    )
    logging.shutdown()
    faulthandler.dump_traceback(file=2)  # the place; sys.stderr is a log without a descriptor
    os._exit(os.EX_SOFTWARE)  # a stuck main thread would not end by itself
