"""A gate gets the receipts of approvals, and of nothing else (docs/protocol.md, Receipt)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import Agent, Gate, Team, User
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.wake.proof.test_receipts import delivered, get
from wake.models import Receipt, Response
from wake.undo import take_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def gate(team: Team, agent: Agent) -> tuple[Gate, str]:
    return gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())


@pytest.mark.parametrize("status", ["rejected", "redirected"])
def test_a_gate_gets_none_of_an_answer_that_it_may_not_use(
    status: str,
    caller: AgentClient,
    alice: User,
    answer: Callable[..., Response],
    gate: tuple[Gate, str],
) -> None:
    delivery = delivered(caller)
    answer(delivery, status, feedback="Only half of it.")

    refused = get(caller, delivery.pk, gate[1])

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_answer")
    assert not Receipt.objects.exists()
    take_back(delivery, by=alice, at=database_now())  # the agent has not read it
