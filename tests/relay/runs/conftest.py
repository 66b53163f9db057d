"""Provides a task whose run has begun."""

from __future__ import annotations

import pytest

from relay.models import CallerKey, Card, Task
from tests.relay.fake_connector import FakeConnector, Frame, ask


@pytest.fixture
def task(card: Card, caller_key: CallerKey) -> Task:
    return ask(card, caller_key)


@pytest.fixture
def frame(task: Task, connector: FakeConnector) -> Frame:
    """Returns the frame of a run that has begun."""
    return connector.run()
