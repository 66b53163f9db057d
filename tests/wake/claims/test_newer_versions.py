"""An approval ends when people decide about a newer version (docs/protocol.md, Claim)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import Agent, Gate, Team, User
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.wake.claims.test_claims import Question, error
from wake.models import Claim, Delivery, Response
from wake.undo import take_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def gate(team: Team, agent: Agent) -> tuple[Gate, str]:
    return gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())


@pytest.mark.parametrize("status", ["approved", "redirected", "rejected"])
@pytest.mark.parametrize("held", [False, True])
def test_an_approval_ends_when_a_newer_version_is_answered(
    status: str,
    held: bool,
    caller: AgentClient,
    answer: Callable[..., Response],
    gate: tuple[Gate, str],
) -> None:
    old = Question(caller)
    answer(old.pk)
    new = Question(caller, supersedes=old.pk)
    newest = Question(caller, supersedes=new.pk)
    answer(newest.pk, status, feedback="Only half of it.", held=held)

    refusals = [error(old.claim(text=text)) for text in ("", gate[1])]

    superseded = {"status_code": 409, "code": "not_approved", "status": "superseded"}
    assert refusals == [superseded] * 2
    assert old.status(gate[1]).json()["status"] == "superseded"
    assert not Claim.objects.exists()
    assert (newest.claim().status_code == 200) == (status != "rejected" and not held)


def test_an_approval_counts_while_no_newer_version_is_answered(
    caller: AgentClient, answer: Callable[..., Response], alice: User, gate: tuple[Gate, str]
) -> None:
    old = Question(caller)
    answer(old.pk)
    new = Question(caller, supersedes=old.pk)
    answer(new.pk, "rejected", held=True)
    take_back(Delivery.objects.get(pk=new.pk), by=alice, at=database_now())

    assert old.status(gate[1]).json()["status"] == "approved"
    assert old.claim().status_code == 200


def test_a_replaced_version_that_people_approve_last_is_used(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    old = Question(caller)
    new = Question(caller, supersedes=old.pk)
    answer(new.pk, "rejected", feedback="The first one was right.")
    answer(old.pk, knows_replaced=True)

    assert old.claim().status_code == 200


def test_of_two_approved_versions_the_newer_one_is_used(
    caller: AgentClient, answer: Callable[..., Response]
) -> None:
    old = Question(caller)
    new = Question(caller, supersedes=old.pk)
    answer(new.pk)
    answer(old.pk, knows_replaced=True)

    assert error(old.claim())["status"] == "superseded"
    assert new.claim().status_code == 200
