"""Names the plugins with the fixtures that several rooms share."""

from __future__ import annotations

import gc
import shutil
from math import inf

import pytest
from django.conf import settings

from database import clock, notifications

pytest_plugins = [
    f"tests.fixtures.{name}"
    for name in (
        *("database", "people", "agents", "deliveries", "rules", "receivers", "encryption"),
    )
]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the data folder of this process (tests/settings.py)."""
    shutil.rmtree(settings.WAKE_DATA, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts slow tests first, so that no worker begins a long one when the others are done. One
    worker waits for its processes while the others use the cores."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Lets the garbage collector look less often, and not at what was imported and collected. It
    took an eighth of the time of the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def _notifications_of_this_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread of a test keeps a connection to the database."""
    monkeypatch.setattr(notifications.watcher, "is_enabled", False)


@pytest.fixture(autouse=True)
def _steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's clock is read once for all tests of a process: a reading in the middle would
    count among the queries of a test."""
    monkeypatch.setattr(clock, "FRESH_SECONDS", inf)
