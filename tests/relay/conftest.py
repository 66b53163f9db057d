"""A published agent and somebody with a key to call it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from relay import callers
from relay.models import CallerKey, Card
from relay.publishing import publish
from tests.inbox.people import Person
from tests.relay.calling import Caller


@pytest.fixture
def card(agent: Agent) -> Card:
    """At `/@garden/research-agent-01`, for whoever has a caller key of the team."""
    return publish(agent, by=SYSTEM, at=timezone.now(), description="Compares competitors.")


@pytest.fixture
def caller_key(team: Team) -> CallerKey:
    """The row; its text is `caller_key.text`."""
    row, text = callers.mint(team, name="Build server", by=SYSTEM)
    row.text = text  # type: ignore[attr-defined]
    return row


@pytest.fixture
def newer(card: Card, caller_key: CallerKey) -> Caller:
    """Speaks 1.0 with that key."""
    return Caller(card, "1.0", caller_key.text)  # type: ignore[attr-defined]


@pytest.fixture
def older(card: Card, caller_key: CallerKey) -> Caller:
    """Speaks 0.3 with the same."""
    return Caller(card, "0.3", caller_key.text)  # type: ignore[attr-defined]


@pytest.fixture
def stranger(card: Card, team: Team) -> Caller:
    """With another key of the same team."""
    _, text = callers.mint(team, name="Somebody else", by=SYSTEM)
    return Caller(card, "1.0", text)


@pytest.fixture(params=["1.0", "0.3"])
def either(request: pytest.FixtureRequest, newer: Caller, older: Caller) -> Caller:
    return newer if request.param == "1.0" else older


@pytest.fixture
def alices(alice: User) -> Person:
    return Person(alice)


@pytest.fixture
def bobs(bob: User) -> Person:
    return Person(bob)


@pytest.fixture
def ritas(rita: User) -> Person:
    return Person(rita)
