"""Provides a connector that is online, and lets nothing wait long."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.models import ApiKey
from relay.models import Card
from relay.streams import stream
from tests.relay.fake_connector import FakeConnector
from tests.relay.streams.listening import SetTimes


@pytest.fixture(autouse=True)
def set_times(monkeypatch: pytest.MonkeyPatch) -> SetTimes:
    """Returns a function that sets times of streams, in seconds by the names of their constants.
    Sends are held back for a tenth of a second unless a test sets another time."""

    def set_times(**seconds: float) -> None:
        for name, value in seconds.items():
            # A stream is opened over HTTP, which takes no times. Heartbeats come every 15 seconds.
            monkeypatch.setattr(stream, name, value)

    set_times(HELD_SECONDS=0.1)
    return set_times


@pytest.fixture
def connector(card: Card, key: ApiKey) -> FakeConnector:
    return FakeConnector(key, at=timezone.now())
