"""Names the plugins with the fixtures that several rooms share."""

from __future__ import annotations

import gc
import shutil
import sys
from math import inf
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.utils import timezone
from xdist.scheduler import LoadScopeScheduling

from database import clock, notifications

pytest_plugins = [
    f"tests.fixtures.{name}"
    for name in (
        *("database", "people", "agents", "deliveries", "rules", "answering_rules"),
        *("receivers", "encryption"),
        *("letters", "sign_in_provider"),
    )
]

# A busy machine is slow to generate an example, and that is no failure.
hypothesis.settings.register_profile(
    "wake", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("wake")

# jsonschema would compile 39 grammars for formats of IRIs, which no schema here has. That took a
# third of the time in which a process collects the tests.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# Until everything is collected: what is imported stays, and to look at it again and again took a
# fifth of the time of the collection.
gc.disable()

# The tests of such a folder share a server that takes seconds to start.
TOGETHER = ("tests/relay/conformance/", "tests/stress/faults/")


class ByFile(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Hands the files of tests out in the order of the collection, each to the next worker that has
    little left to do."""

    def _split_scope(self, nodeid: str) -> str:
        folder = next((name for name in TOGETHER if nodeid.startswith(name)), "")
        return folder or nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    config.option.loadscopereorder = False  # not by the number of tests in a file
    return ByFile(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the data folder of this process (tests/settings.py)."""
    shutil.rmtree(settings.WAKE_DATA, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts slow tests first, so that no worker begins a long one when the others are done."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("slow", "system"))))


def pytest_collection_finish() -> None:
    """Lets the garbage collector look less often, and not at what was imported and collected. It
    took an eighth of the time of the tests."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def _notifications_of_this_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread of a test keeps a connection to the database."""
    monkeypatch.setattr(notifications.watcher, "is_enabled", False)


@pytest.fixture(autouse=True)
def _steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reads the database's clock: a reading would count among the queries of a test, and a
    slow one would leave `database_now` behind the `timezone.now` of the test."""
    offset = clock.microseconds(timezone.now()) - clock.ticks()
    monkeypatch.setattr(clock, "_last", clock._Reading(offset, clock.ticks()))
    monkeypatch.setattr(clock, "FRESH_SECONDS", inf)
