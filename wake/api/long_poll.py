"""Holds a request open until another process has written what it waits for: a long poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import connection

STEP_SECONDS = 0.5
_places = threading.BoundedSemaphore(settings.WAKE_MAX_WAITING)

Result = TypeVar("Result")


def long_poll(
    look: Callable[[], Result], *, seconds: float, until: Callable[[Result], bool]
) -> Result:
    """Calls `look` until `until` accepts its result or the time is over, and returns the last
    result. Looks only once if too many requests are waiting already."""
    result = look()
    if not seconds or until(result) or not _places.acquire(blocking=False):
        return result
    try:
        deadline = time.monotonic() + seconds
        while not until(result) and time.monotonic() < deadline:
            if not connection.in_atomic_block:
                connection.close()  # returns it to the pool, so that waiting takes no connection
            time.sleep(STEP_SECONDS)
            result = look()
        return result
    finally:
        _places.release()
