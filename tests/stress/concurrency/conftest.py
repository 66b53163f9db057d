"""Runs real threads against a real database, with real commits."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "concurrency":
            item.add_marker(pytest.mark.django_db(transaction=True))
