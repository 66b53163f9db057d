"""Makes checkpoints, and sends them to real servers on this machine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.log.checkpoints import checkpoints
from accounts.models import LogCheckpoint
from inbox.notifications.checkpoints import sending
from tests.accounts.log.checkpoints.growing import grow

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.at = AT

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def checkpoint(clock: Clock) -> Callable[[], LogCheckpoint]:
    """Moves the clock by an hour, and makes a checkpoint of three more entries."""

    def make() -> LogCheckpoint:
        clock.at += HOUR
        grow(3)
        made = checkpoints.make_due(at=clock.at)
        assert made is not None
        return made

    return make


@pytest.fixture
def send(clock: Clock, settings: Any) -> Callable[[], int]:
    """Sends what is due, also to servers on this machine."""
    settings.WAKE_NOTIFICATION_HOSTS = frozenset({"127.0.0.1"})
    return lambda: sending.send_due(clock=clock)
