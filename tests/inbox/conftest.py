"""Provides people with their own browsers, and data of another team."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Agent, Membership, Team, User
from inbox.models import Preferences
from tests.inbox.person import Person
from tests.types import Prefer
from wake.deliveries import deliver
from wake.models import Delivery


@pytest.fixture
def browser() -> Callable[[User], Person]:
    return Person


@pytest.fixture
def elsewhere(mallory: User) -> Delivery:
    """Delivers to a team that only Mallory belongs to."""
    agent = Agent.objects.create(team=mallory.teams.get(), agent_id="their-agent")
    return deliver(
        agent,
        agent_id="their-agent",
        provider="claude",
        type="output",
        headline="Their secret plan",
        summary="Nobody else may read this.",
        details_json='"their details"',
        at=timezone.now(),
    ).delivery


@pytest.fixture
def second_team(alice: User) -> Team:
    """Makes Alice a reader of another team."""
    team = Team.objects.create(slug="orchard", name="Orchard")
    Membership.objects.create(team=team, user=alice, role=Membership.Role.READER)
    return team


@pytest.fixture
def prefer() -> Prefer:
    """Stores a person's preferences. `due` is when the person's next digest is sent."""

    def store(user: User, *, due: datetime | None = None, **fields: Any) -> Preferences:
        given = {"digest_at": time(9), "next_digest_at": due, **fields}
        row, _ = Preferences.objects.update_or_create(user=user, defaults=given)
        row.user = user
        return row

    return store
