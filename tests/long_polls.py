"""Stands in for the time that passes while a request waits, so that no test does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from wake.api import long_poll


class Clock:
    """`what` happens in the first pause of a request that waits."""

    def __init__(self, what: Callable[[], Any] = lambda: None) -> None:
        self.what: Callable[[], Any] | None = what
        self.waited = 0.0

    def monotonic(self) -> float:
        return self.waited

    def pause(self, _: threading.Event, seconds: float) -> None:
        self.waited += seconds
        what, self.what = self.what, None
        if what:
            what()


def wait_by(clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes requests that wait look at this clock."""
    monkeypatch.setattr(long_poll, "time", clock)
    monkeypatch.setattr(long_poll, "pause", clock.pause)
