"""Provides a clock that passes its time at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class FastClock:
    """Runs like a real clock, but a sleep takes no time. Everyone who shares the clock sees that
    the time has passed."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._began = time.monotonic()
        self._date = datetime.now(UTC)
        self.after_sleep: Callable[[], None] = lambda: None

    def now(self) -> float:
        return time.monotonic() - self._began + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds
        self.after_sleep()

    def date(self) -> datetime:
        return self._date + timedelta(seconds=self.now())
