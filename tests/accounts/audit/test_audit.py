"""The audit records who did what to what, in the same transaction."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.agents import registration
from accounts.audit import SYSTEM, Actor, agent_actor, person, record, record_many
from accounts.models import Agent, AuditEvent, Team, User
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeDelivery
from wake.models import Delivery


def test_an_event_copies_ids_and_names(agent: Agent, team: Team, alice: User) -> None:
    at = timezone.now() - timedelta(days=1)

    record("agent.greeted", by=person(alice, "192.0.2.7"), of=agent, team=team, at=at, loud=True)

    event = AuditEvent.objects.get(event="agent.greeted")
    assert (event.actor_kind, event.actor_id, event.actor_name) == (
        "person",
        str(alice.pk),
        "alice",
    )
    assert (event.object_kind, event.object_id) == ("agent", str(agent.pk))
    assert (event.object_name, event.team_id) == ("research-agent-01", team.pk)
    assert (event.at, event.address, event.detail) == (at, "192.0.2.7", {"loud": True})
    assert str(event) == "alice agent.greeted research-agent-01"


def test_an_event_outlives_its_object(team: Team) -> None:
    """An event has ids and names instead of foreign keys."""
    agent = Agent.objects.create(team=team, agent_id="short-lived")
    record("agent.greeted", by=SYSTEM, of=agent, team=team)

    agent.delete()
    team.delete()

    assert AuditEvent.objects.get(event="agent.greeted").object_name == "short-lived"


def test_long_names_are_cut(team: Team, agent: Agent) -> None:
    record("x.y", by=Actor("person", name="n" * 500), of=Agent(agent_id="a" * 500), team=None)

    event = AuditEvent.objects.get(event="x.y")
    assert (len(event.actor_name), len(event.object_name)) == (150, 150)
    assert event.team_id is None


def test_many_rows_at_once(make_delivery: MakeDelivery) -> None:
    deliveries = [make_delivery() for _ in range(3)]

    record_many("delivery.seen", by=SYSTEM, of=deliveries, at=timezone.now(), route="page")

    events = AuditEvent.objects.filter(event="delivery.seen").order_by("pk")
    assert [event.object_id for event in events] == [str(delivery.pk) for delivery in deliveries]
    assert {event.detail["route"] for event in events} == {"page"}
    hashes = [event.detail["content_hash"] for event in events]
    assert hashes == [delivery.content_hash for delivery in deliveries]


def test_a_delivery_says_who_sent_it_with_which_key_and_from_where(
    caller: AgentClient, agent: Agent
) -> None:
    pk = caller.deliver(headline="Private words")

    event = AuditEvent.objects.get(event="delivery.received")
    delivery = Delivery.objects.get()
    assert event.object_id == pk
    assert (event.actor_kind, event.actor_name) == ("agent", agent.agent_id)
    assert (event.address, event.at) == ("127.0.0.1", delivery.created_at)
    assert event.detail == {
        "type": "output",
        "key": caller.key.hint,
        "content_hash": delivery.content_hash,
    }
    assert agent_actor(agent).id == str(agent.pk)


def test_pausing_twice_is_pausing_once(agent: Agent) -> None:
    at = timezone.now()

    registration.pause(agent, by=SYSTEM, at=at)
    registration.pause(agent, by=SYSTEM, at=at + timedelta(hours=1))
    agent.refresh_from_db()
    assert agent.paused_at == at
    registration.resume(agent, by=SYSTEM)
    registration.resume(agent, by=SYSTEM)

    agent.refresh_from_db()
    assert agent.paused_at is None
    events = AuditEvent.objects.filter(object_id=str(agent.pk), event__startswith="agent.")
    assert sorted(event.event for event in events) == ["agent.paused", "agent.resumed"]


def test_registering_gives_an_agent_its_secret(team: Team) -> None:
    secret = registration.register(Agent(team=team, agent_id="new"), by=SYSTEM)

    assert secret is not None
    assert secret.startswith("whsec_")
    assert AuditEvent.objects.filter(event="agent.registered").count() == 1
