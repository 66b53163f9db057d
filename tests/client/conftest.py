"""Runs these tests on one database only, except those that use a whole server."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ON_EVERY_DATABASE = {"test_served.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.name not in ON_EVERY_DATABASE:
            item.add_marker(pytest.mark.once)
