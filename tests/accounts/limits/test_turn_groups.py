"""A credential that was accepted has the turns of its team or person from then on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from accounts.access.key_texts import new_text
from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.limits import turn_groups
from accounts.models import Agent, Team, User
from database import turns
from database.turns import Turn, Turns, TurnTaker
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import Card
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.types import SignedIn

pytestmark = pytest.mark.once
ADDRESS, MEMBER = "192.0.2.1", "digest"


@pytest.fixture(autouse=True)
def a_request_of_an_unknown_caller() -> Iterator[None]:
    """Gives each test a turn, as the edge of the server does."""
    before = dict(turn_groups._groups)
    turn_groups._groups.clear()
    token = turns.current.set(Turn(Turns("request", 1), TurnTaker(ADDRESS, MEMBER)))
    yield
    turns.current.reset(token)
    turn_groups._groups.clear()
    turn_groups._groups.update(before)


def test_a_key_of_an_agent(caller: AgentClient, team: Team) -> None:
    caller.deliver()

    assert turn_groups._groups == {MEMBER: f"team {team.pk}"}


def test_a_key_of_a_gate(agent: Agent, team: Team, client: Client) -> None:
    _, text = gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=timezone.now())

    client.post("/wake/v1/claim/x", headers={"Authorization": f"Bearer {text}"})

    assert turn_groups._groups == {MEMBER: f"team {team.pk}"}


def test_a_key_of_a_caller(agent: Agent, team: Team, client: Client) -> None:
    card = publish(agent, by=SYSTEM, at=timezone.now())
    _, text = callers.mint(team, name="Build server", by=SYSTEM)

    list_tasks(client, card, text)

    assert turn_groups._groups == {MEMBER: f"team {team.pk}"}


def test_a_session_of_a_person(alice: User, team: Team, signed_in: SignedIn) -> None:
    signed_in(alice).get("/")

    assert turn_groups._groups == {MEMBER: f"person {alice.pk}"}


@pytest.mark.parametrize("access", [Card.Access.KEY, Card.Access.PUBLIC])
def test_no_invented_key_is_accepted(agent: Agent, client: Client, access: str) -> None:
    """Everyone gets the card of an agent, and a public agent takes calls without a key."""
    card = publish(agent, by=SYSTEM, at=timezone.now(), access=access)
    bearer = {"Authorization": f"Bearer {new_text('wk_call_')}"}

    client.get(f"/{card}/.well-known/agent-card.json", headers=bearer)
    client.get("/wake/v1/responses", headers=bearer)
    list_tasks(client, card, new_text("wk_call_"))
    client.get("/login/")

    assert turn_groups._groups == {}


def list_tasks(client: Client, card: Card, key: str) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {key}"}
    return client.post(
        f"/{card}", json.dumps(call), content_type="application/json", headers=headers
    )
