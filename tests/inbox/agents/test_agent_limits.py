"""Owners limit in the browser how much one agent may deliver in an hour."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.agents import hourly_limits
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent
from database.clock import EPOCH
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of


def save(person: Person, agent: Agent, hourly: object) -> Any:
    given = {"hourly_limit": hourly}
    return person.client.post(f"/agents/{agent.pk}/limit/", given, follow=True)


def test_an_owner_lowers_it_and_gives_it_back(
    alices: Person, agent: Agent, caller: AgentClient
) -> None:
    page = text_of(save(alices, agent, 2))

    assert (
        "research-agent-01 may deliver 2 times an hour from each of its keys and clients." in page
    )
    assert "Rate limit 2 per hour Change rate limit" in page
    assert (
        "Rate limit of each key and each connected client: 2 per hour, bursts of 2 "
        "(test keys: 2 per hour, bursts of 2)." in page
    )
    codes = [caller.post(caller.payload()).status_code for _ in range(3)]
    assert codes == [201, 201, 429]
    form = alices.get(f"/agents/{agent.pk}/limit/")
    assert 'value="2"' in form.content.decode()
    assert (
        "By default each key and each connected client can deliver 500 times per hour "
        "in bursts of 50" in text_of(form)
    )
    page = text_of(save(alices, agent, ""))
    assert "research-agent-01 now has the default rate limit." in page
    assert (
        "Rate limit of each key and each connected client: 500 per hour, bursts of 50 "
        "(test keys: 20 per hour, bursts of 5)." in page
    )
    assert "Rate limit Default Set a rate limit" in page


def test_the_audit_describes_the_limit(alices: Person, agent: Agent) -> None:
    for hourly in (1, 30, ""):
        save(alices, agent, hourly)

    page = text_of(alices.get("/audit/", event="agent.limited"))

    assert "alice limited an agent to 1 delivery per hour" in page
    assert "alice limited an agent to 30 deliveries per hour" in page
    assert "alice removed an agent's rate limit" in page
    assert AuditEvent.objects.filter(event="agent.limited", address="127.0.0.1").count() == 3


@pytest.mark.parametrize(
    ("hourly", "words"),
    [
        ("0", "Enter at least 1. To stop all deliveries, pause the agent."),
        ("500", "The server allows a key 500 an hour"),
        ("9" * 30, "The server allows a key 500 an hour"),
        ("many", "Enter a whole number or leave this empty."),
    ],
)
def test_a_limit_that_lowers_nothing_is_refused(
    alices: Person, agent: Agent, hourly: str, words: str
) -> None:
    page = save(alices, agent, hourly)

    assert page.status_code == 422
    assert words in text_of(page)
    agent.refresh_from_db()
    assert agent.hourly_limit is None


def test_a_keys_line_counts_with_the_limit(alices: Person, agent: Agent, key: ApiKey) -> None:
    hourly_limits.set_limit(agent, 4, by=SYSTEM, at=EPOCH)
    AgentClient(key, agent.agent_id).deliver()

    assert "3 of 4 left" in text_of(alices.get(f"/agents/{agent.pk}/"))


@pytest.mark.parametrize("role", ["bobs", "ritas"])
def test_only_owners_change_it_and_others_read_it(
    role: str, request: pytest.FixtureRequest, agent: Agent
) -> None:
    person: Person = request.getfixturevalue(role)
    hourly_limits.set_limit(agent, 7, by=SYSTEM, at=EPOCH)

    answers = [person.get(f"/agents/{agent.pk}/limit/"), save(person, agent, 400)]

    assert [answer.status_code for answer in answers] == [403, 403]
    page = text_of(person.get(f"/agents/{agent.pk}/"))
    assert "Rate limit 7 per hour" in page
    assert "Change rate limit" not in page
    agent.refresh_from_db()
    assert agent.hourly_limit == 7
