"""Makes checkpoints, and sends them to real servers on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts.log.checkpoints import checkpoints
from accounts.models import LogCheckpoint
from inbox.notifications.checkpoints import sending
from tests.accounts.log.checkpoints.growing import grow

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


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


@pytest.fixture
def bare(tmp_path: Path, settings: Any) -> Path:
    """Makes a repository that gets checkpoints."""
    folder = tmp_path / "log.git"
    folder.mkdir()
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    settings.WAKE_CHECKPOINT_GIT = str(folder)
    return folder
