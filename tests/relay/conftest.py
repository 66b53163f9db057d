"""Provides a published agent, a caller with a key, and a connector."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Team
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import CallerKey, Card
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector


@pytest.fixture(autouse=True)
def answered_at_once(settings: Any) -> None:
    """Keeps a send from waiting while a connector is online, except in tests about this waiting."""
    settings.WAKE_A2A_WAIT_SECONDS = 0


@pytest.fixture
def card(agent: Agent) -> Card:
    """Publishes the agent at `/@garden/research-agent-01` for every caller key of the team."""
    return publish(agent, by=SYSTEM, at=timezone.now(), description="Compares competitors.")


@pytest.fixture
def caller_key(team: Team) -> CallerKey:
    """Returns the row; its text is `caller_key.text`."""
    row, text = callers.mint(team, name="Build server", by=SYSTEM)
    row.text = text  # type: ignore[attr-defined]
    return row


@pytest.fixture
def newer(card: Card, caller_key: CallerKey) -> Caller:
    """Returns a caller that speaks 1.0 with `caller_key`."""
    return Caller(card, "1.0", caller_key.text)  # type: ignore[attr-defined]


@pytest.fixture
def older(card: Card, caller_key: CallerKey) -> Caller:
    """Returns a caller that speaks 0.3 with the same key."""
    return Caller(card, "0.3", caller_key.text)  # type: ignore[attr-defined]


@pytest.fixture
def other_caller(card: Card, team: Team) -> Caller:
    """Returns a caller that speaks 1.0 with another key of the same team."""
    _, text = callers.mint(team, name="Somebody else", by=SYSTEM)
    return Caller(card, "1.0", text)


@pytest.fixture(params=["1.0", "0.3"])
def either(request: pytest.FixtureRequest, newer: Caller, older: Caller) -> Caller:
    return newer if request.param == "1.0" else older


@pytest.fixture
def connector(card: Card, key: ApiKey) -> FakeConnector:
    """Returns a connector of the agent that has sent its hello."""
    return FakeConnector(key)
