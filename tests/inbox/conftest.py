"""People with browsers of their own, and what belongs to others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounts.models import Agent, Membership, Team, User
from tests.inbox.people import Person
from wake.deliveries import deliver
from wake.models import Delivery


@pytest.fixture
def browser() -> Callable[[User], Person]:
    return Person


@pytest.fixture
def alices(alice: User) -> Person:
    return Person(alice)


@pytest.fixture
def bobs(bob: User) -> Person:
    return Person(bob)


@pytest.fixture
def ritas(rita: User) -> Person:
    return Person(rita)


@pytest.fixture
def elsewhere(mallory: User) -> Delivery:
    """A delivery to a team that only Mallory belongs to."""
    agent = Agent.objects.create(team=mallory.teams.get(), agent_id="their-agent")
    return deliver(
        agent,
        agent_id="their-agent",
        provider="claude",
        type="output",
        headline="Their secret plan",
        summary="Nobody else may read this.",
        details_json='"their details"',
    ).delivery


@pytest.fixture
def second_team(alice: User) -> Team:
    """Alice reads there, and no more."""
    team = Team.objects.create(slug="orchard", name="Orchard")
    Membership.objects.create(team=team, user=alice, role=Membership.Role.READER)
    return team
