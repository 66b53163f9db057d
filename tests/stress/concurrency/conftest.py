"""Runs real threads and processes against a real database, with real commits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stress.concurrency.processes import Processes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "concurrency":
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def processes(django_db_setup: None) -> Iterator[Processes]:
    """Starts three processes, once for all files that a worker runs, because starting them takes
    seconds."""
    processes = Processes(3)
    yield processes
    processes.end()
