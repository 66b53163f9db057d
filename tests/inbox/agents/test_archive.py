"""Owners archive agents that are no longer used, find agents by name, and restore them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import registration
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent
from relay.cards.publishing import publish
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


def post(person: Person, agent: Agent, action: str) -> Any:
    return person.client.post(f"/agents/{agent.pk}/{action}", follow=True)


def names(person: Person, **query: str) -> list[str]:
    return [str(line.agent) for line in person.get("/agents/", **query).context["lines"]]


def test_an_archived_agent_leaves_the_list_and_comes_back(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    page = text_of(post(alices, agent, "archive"))

    assert "research-agent-01 is archived." in page
    assert names(alices) == []
    assert names(alices, archived="yes") == ["research-agent-01"]
    assert "Archived" in text_of(alices.get(f"/agents/{agent.pk}/"))
    assert alices.see(delivery).status_code == 200
    page = text_of(post(alices, agent, "restore"))
    assert "research-agent-01 is back on the list." in page
    assert names(alices) == ["research-agent-01"]
    about_agents = AuditEvent.objects.filter(object_kind="agent", actor_name="alice")
    events = about_agents.order_by("pk")
    assert [(event.event, event.actor_name) for event in events] == [
        ("agent.archived", "alice"),
        ("agent.restored", "alice"),
    ]


def test_an_archived_agent_delivers_nothing_and_still_reads(
    alices: Person, agent: Agent, caller: AgentClient
) -> None:
    post(alices, agent, "archive")

    refused = caller.post(caller.payload())

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "paused")
    assert "paused or archived" in refused.json()["error"]["message"]
    assert caller.get("responses").status_code == 200
    post(alices, agent, "restore")
    caller.deliver()


def test_an_agent_that_was_paused_before_comes_back_paused(
    alices: Person, agent: Agent, caller: AgentClient
) -> None:
    for action in ("pause", "archive"):
        post(alices, agent, action)

    assert "This agent is archived. Restore it first." in text_of(post(alices, agent, "resume"))
    assert caller.post(caller.payload()).status_code == 403
    post(alices, agent, "restore")

    agent.refresh_from_db()
    assert (agent.archived_at, agent.paused_at is None) == (None, False)
    assert caller.post(caller.payload()).status_code == 403


def test_archiving_twice_is_one_event(agent: Agent) -> None:
    for _ in range(2):
        registration.archive(agent, by=SYSTEM, at=timezone.now())
    for _ in range(2):
        registration.restore(agent, by=SYSTEM)

    assert AuditEvent.objects.filter(event="agent.archived").count() == 1
    assert AuditEvent.objects.filter(event="agent.restored").count() == 1


def test_the_database_holds_that_an_archived_agent_is_paused(agent: Agent) -> None:
    with pytest.raises(IntegrityError, match="archived_agents_are_paused"):
        Agent.objects.filter(pk=agent.pk).update(archived_at=timezone.now())


def test_an_archived_agent_cannot_be_called(alices: Person, agent: Agent) -> None:
    card = publish(agent, by=SYSTEM, at=timezone.now(), access="public")
    card_path = f"/{card}/.well-known/agent-card.json"

    post(alices, agent, "archive")
    hidden = Client().get(card_path).status_code
    post(alices, agent, "restore")

    assert (hidden, Client().get(card_path).status_code) == (404, 200)


def test_the_id_of_an_archived_agent_stays_taken(alices: Person, agent: Agent) -> None:
    registration.archive(agent, by=SYSTEM, at=timezone.now())
    Agent.objects.update(created_at=timezone.now() - 2 * registration.JUST_NOW)

    page = alices.client.post("/agents/new/", {"team": agent.team_id, "agent_id": str(agent)})

    assert page.status_code == 422
    assert "It may be archived." in text_of(page)


@pytest.mark.parametrize("role", ["bobs", "ritas"])
def test_only_owners_archive(role: str, request: pytest.FixtureRequest, agent: Agent) -> None:
    person: Person = request.getfixturevalue(role)

    answers = [post(person, agent, action) for action in ("archive", "restore")]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert "Archive agent" not in text_of(person.get(f"/agents/{agent.pk}/"))


def test_agents_are_found_by_id_and_provider(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    Agent.objects.create(team=agent.team, agent_id="Ledger-Clerk")
    make_delivery(provider="gemini")

    assert names(alices, q="LEDGER") == ["Ledger-Clerk"]
    assert names(alices, q="gem") == ["research-agent-01"]
    nothing = text_of(alices.get("/agents/", q="zebra"))
    assert "No agent matches zebra. Clear filter" in nothing


def test_a_hundred_agents_are_a_page(alices: Person, agent: Agent) -> None:
    Agent.objects.bulk_create(
        Agent(team=agent.team, agent_id=f"agent-{number:03}") for number in range(100)
    )

    with CaptureQueriesContext(connection) as asked:
        first = alices.get("/agents/")

    assert len(asked) <= 7
    assert len(first.context["lines"]) == 100
    assert names(alices, page="2") == ["research-agent-01"]
    assert len(names(alices, page="x")) == 100
