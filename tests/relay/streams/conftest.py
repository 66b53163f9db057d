"""Provides a connector that is online now, and lets nothing wait long."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.models import ApiKey
from relay.models import Card
from relay.streams import stream
from tests.relay.fake_connector import FakeConnector


@pytest.fixture(autouse=True)
def held_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HELD_SECONDS", 0.1)


@pytest.fixture
def connector(card: Card, key: ApiKey) -> FakeConnector:
    return FakeConnector(key, at=timezone.now())
