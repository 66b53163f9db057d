"""Provides tasks that a connector has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relay.models import CallerKey, Card, Task
from tests.relay.fake_connector import FakeConnector, after, ask


@pytest.fixture
def end(card: Card, caller_key: CallerKey, connector: FakeConnector) -> Callable[..., Task]:
    """Creates a task that a connector took and ended in this state."""

    def run(state: str, request: str = "Compare the ten largest.", **result: Any) -> Task:
        task = ask(card, caller_key, request)
        connector.end(connector.run(at=after(1)), state, at=after(2), **result)
        return Task.objects.get(pk=task.pk)

    return run
