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
def alices(alice: User) -> Person:
    return Person(alice)


@pytest.fixture
def bobs(bob: User) -> Person:
    return Person(bob)


@pytest.fixture
def ritas(rita: User) -> Person:
    return Person(rita)
