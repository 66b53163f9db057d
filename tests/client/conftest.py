"""Runs these tests on one database only, except the tests that use a whole server."""

from __future__ import annotations

import pytest

ON_EVERY_DATABASE = {"test_served.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_client = item.nodeid.startswith("tests/client/")
        if is_client and item.path.name not in ON_EVERY_DATABASE:
            item.add_marker(pytest.mark.once)
