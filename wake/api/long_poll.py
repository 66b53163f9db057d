"""Holds a request open until another process has written what it waits for: a long poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from django.conf import settings
from django.db import connection

from database import notifications

STEP_SECONDS = 0.5
_places = threading.BoundedSemaphore(settings.WAKE_MAX_WAITING)

Result = TypeVar("Result")


def long_poll(
    look: Callable[[], Result],
    *,
    seconds: float,
    until: Callable[[Result], bool],
    topic: str = "",
) -> Result:
    """Calls `look` until `until` accepts its result or the time is over, and returns the last
    result. It looks twice a second, and at each notification of the topic. Looks only once if too
    many requests are waiting already."""
    result = look()
    if not seconds or until(result) or not _places.acquire(blocking=False):
        return result
    woken = threading.Event()
    try:
        deadline = time.monotonic() + seconds
        with notifications.listening(topic, woken.set) if topic else nullcontext():
            while not until(result) and time.monotonic() < deadline:
                if not connection.in_atomic_block:
                    connection.close()  # returns it to the pool: waiting takes no connection
                pause(woken, STEP_SECONDS)
                result = look()
        return result
    finally:
        _places.release()


def pause(woken: threading.Event, seconds: float) -> None:
    woken.wait(seconds)
    woken.clear()
