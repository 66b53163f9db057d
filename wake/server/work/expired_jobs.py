"""Logs one line a minute for jobs that a worker drops because they waited for too long."""

from __future__ import annotations

import logging
import time

SILENT_SECONDS = 60.0
DROPPED = "Discarding revoked task"  # Celery also logs this text for an expired job


class OneLine(logging.Filter):
    """Replaces the lines that Celery writes for each dropped job, several a second. A dropped job
    does no harm, because the waiting work is in rows and the next job does it."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_until = 0.0
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if not str(record.msg).startswith(DROPPED):
            return True
        self._dropped += 1
        if time.monotonic() < self._silent_until:
            return False
        self._silent_until = time.monotonic() + SILENT_SECONDS
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg, record.args = (
            "The worker drops jobs that waited for too long, %d so far; the next line comes in a "
            "minute at the earliest. The jobs that follow do their work.",
            (self._dropped,),
        )
        return True
