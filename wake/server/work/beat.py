"""Sends the jobs that have due rows, and logs one line a minute while the broker is away."""

from __future__ import annotations

import logging
import time
from functools import cached_property
from typing import Any

from celery.beat import Scheduler, SchedulingError

from wake.server.work import silence
from wake.server.work.timetable import ASK_SECONDS, Timetable, timetable_of

logger = logging.getLogger(__name__)

SILENT_SECONDS = 60.0


class AskingScheduler(Scheduler):
    """Asks once a second which jobs have due rows, and sends only these, because each job costs a
    worker 5 ms even if it finds nothing.

    Logs quietly when a job cannot be sent. Celery's own scheduler writes two tracebacks each time,
    several times a second."""

    _silent_until = 0.0
    _failures = 0

    @cached_property
    def timetable(self) -> Timetable:
        return timetable_of(self.app)

    def tick(self, *_: Any, **__: Any) -> float:
        """Sends the jobs that start now, and returns the seconds until the next tick."""
        for job in self.timetable.start_due(at=time.monotonic()):
            self.apply_entry(self.schedule[job], producer=self.producer)
        if not self._failures:
            silence.report_beat()
        return ASK_SECONDS

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Sends one due job. A lost job does no harm, because the waiting work is in rows and the
        next job does it."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            self._failures += 1
            self._log(error)
        else:
            self._failures, self._silent_until = 0, 0.0

    def _log(self, error: SchedulingError) -> None:
        if time.monotonic() < self._silent_until:
            return
        self._silent_until = time.monotonic() + SILENT_SECONDS
        logger.error(
            "Beat cannot send jobs, %d so far; the next line comes in a minute at the earliest: %r",
            self._failures,
            error.__cause__ or error,
        )
