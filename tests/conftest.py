"""Names the plugins with the fixtures that several rooms share."""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Iterator
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
        *("receivers", "encryption", "signers"),
        *("letters", "sign_in_provider"),
    )
]

# A busy machine is slow to generate an example, and that is no failure.
hypothesis.settings.register_profile(
    "wake", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("wake")

# Without this line, jsonschema would compile 39 grammars for formats of IRIs. No schema here has
# such a format. Compiling these grammars took a third of the time in which a process collects the
# tests.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# Python's garbage collector is off until pytest has found all tests. Imported modules are never
# freed, and looking at them again and again took a fifth of that time.
gc.disable()

# The tests of each folder share something that takes seconds to make: a running server, or the
# parsed code.
TOGETHER = ("tests/relay/conformance/", "tests/stress/faults/", "tests/architecture/")
# Most tests of these files take a minute or more, so each runs where there is room.
APART = (
    "tests/browser/every_page/test_buttons.py",
    "tests/client/adapters/test_frameworks.py",
    "tests/client/recipes/test_recipes.py",
)


class ByFile(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Hands out the files of tests in the order of the collection, each to the next worker that has
    little left to do. Some folders stay together, and the tests of some files are handed out one
    by one."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(APART):
            return nodeid
        folder = next((name for name in TOGETHER if nodeid.startswith(name)), "")
        return folder or nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    config.option.loadscopereorder = False  # not by the number of tests in a file
    return ByFile(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the data folder of this process (tests/settings.py)."""
    shutil.rmtree(settings.WAKE_DATA, ignore_errors=True)


# These tests look at pages, or run clients against a server. The queries behind those pages and
# requests have tests of their own, which run on both databases. tests/browser marks its own tests.
ON_ONE_DATABASE = ("tests/check/", "tests/client/", "tests/integrity/", "tests/inbox/rendering/")


def _has_the_database(item: pytest.Item) -> bool:
    is_asked_for = {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
    return bool(is_asked_for) or item.get_closest_marker("django_db") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Marks the tests to which a second database would show nothing new: those that pytest-django
    keeps from the database, and those of ON_ONE_DATABASE. Puts slow tests first, so that no worker
    begins a long test when the other workers are done."""
    for item in items:
        # The tests of database/ also look at the connection itself.
        is_without = not _has_the_database(item) and not item.nodeid.startswith("tests/database/")
        if is_without or item.nodeid.startswith(ON_ONE_DATABASE):
            item.add_marker(pytest.mark.once)
    yield
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("slow", "system", "peers"))))


def pytest_collection_finish() -> None:
    """Lets the garbage collector run less often, and ignore the objects that exist after all
    imports and after the collection of the tests. The collector took an eighth of the time of the
    tests."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def _notifications_of_this_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the threads of a test from holding a connection to the database."""
    # Only servers need the watcher of the process.
    monkeypatch.setattr(notifications.watcher, "is_enabled", False)


@pytest.fixture(autouse=True)
def _steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops readings of the database's clock. Reading the clock would count as a query of the test.
    A slow reading would also leave `database_now` behind the test's `timezone.now`."""
    # the clock was read just now
    monkeypatch.setattr(clock, "_last", clock._Reading(_offset(), clock.ticks()))
    monkeypatch.setattr(clock, "FRESH_SECONDS", inf)  # and is not read again


def _offset() -> int:
    """Returns the microseconds between `timezone.now` and the ticks. On a busy machine another
    process may run between the two readings, so they are repeated until they are close."""
    while True:
        before, now, after = clock.ticks(), clock.microseconds(timezone.now()), clock.ticks()
        if after - before < 100:
            return now - after
