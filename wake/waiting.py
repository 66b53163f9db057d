"""Waits for what another process writes, by looking again and again: a long poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import connection

STEP_SECONDS = 0.5
_places = threading.BoundedSemaphore(settings.WAKE_MAX_WAITING)

Found = TypeVar("Found")


def patiently(
    look: Callable[[], Found], *, seconds: float, until: Callable[[Found], bool]
) -> Found:
    """Looks once, and again until `until` or the end of a long poll; at once where too many wait
    already."""
    found = look()
    if not seconds or until(found) or not _places.acquire(blocking=False):
        return found
    try:
        deadline = time.monotonic() + seconds
        while not until(found) and time.monotonic() < deadline:
            if not connection.in_atomic_block:
                connection.close()  # back to the pool: whoever waits must not hold a connection
            time.sleep(STEP_SECONDS)
            found = look()
        return found
    finally:
        _places.release()
