"""Holds a request open until another process has written the result that it waits for (a long
poll)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest

from database import notifications
from database.turns import released

STEP_SECONDS = 0.5
# The name under which the edge stores when a request arrived (wake/server/http/body_limit.py).
ARRIVED = "wake.arrived"
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
    result. Calls `look` twice a second, and at each notification of the topic. If too many requests
    are waiting already, it calls `look` only once."""
    result = look()
    if not seconds or until(result) or not _places.acquire(blocking=False):
        return result
    woken = threading.Event()
    try:
        deadline = time.monotonic() + seconds
        with notifications.listening(topic, woken.set) if topic else nullcontext():
            while not until(result) and (left := deadline - time.monotonic()) > 0:
                with released():
                    pause(woken, min(STEP_SECONDS, left))
                result = look()
        return result
    finally:
        _places.release()


def arrived_at(request: HttpRequest) -> float:
    """Returns when the request arrived, on the clock of `time.monotonic()`. Since then it may have
    waited for a thread and a connection."""
    noted = getattr(request, "scope", request.META).get(ARRIVED)
    return time.monotonic() if noted is None else float(noted)


def seconds_until(deadline: float) -> float:
    """Returns the seconds that are left, never less than zero."""
    return max(0.0, deadline - time.monotonic())


def pause(woken: threading.Event, seconds: float) -> None:
    woken.wait(seconds)
    woken.clear()
