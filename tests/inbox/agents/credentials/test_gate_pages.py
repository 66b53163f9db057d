"""Owners create and revoke gate keys in the settings; each key is shown once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accounts.agents import gates, registration
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, Gate, Team, User
from database.clock import database_now
from tests.inbox.person import Person, text_of

GATES = "/settings/gates/"


def issue(person: Person, agent: Agent, **fields: Any) -> Any:
    given = {
        "name": "Refund service",
        "agents": [str(agent.pk)],
        "days": "",
        "version": Gate.objects.filter(team=agent.team_id).count(),
        **fields,
    }
    return person.client.post(f"{GATES}{agent.team.slug}/new/", given)


def revoke(person: Person, gate: Gate) -> Any:
    return person.client.post(f"{GATES}{gate.team.slug}/{gate.pk}/revoke", follow=True)


def key_shown(page: Any) -> str:
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    [text] = re.findall(r'<code class="secret" id="key">(\S+)</code>', page.content.decode())
    return str(text)


@pytest.fixture
def gate(agent: Agent) -> Gate:
    at = database_now()
    return gates.issue(agent.team, name="Deploys", agents=[agent], by=SYSTEM, at=at)[0]


def test_an_owner_creates_a_key_and_sees_it_once(alices: Person, agent: Agent) -> None:
    text = key_shown(issue(alices, agent, days="30"))

    gate = Gate.objects.get()
    assert gates.look_up(text) == gate
    assert gate.expires_at is not None
    assert (gate.name, gate.issued_by, list(gate.agents.all())) == (
        "Refund service",
        "alice",
        [agent],
    )
    event = AuditEvent.objects.get(event="gate.issued")
    assert (event.actor_name, event.address) == ("alice", "127.0.0.1")
    assert (event.detail["hint"], event.detail["agents"]) == (gate.hint, [agent.agent_id])
    page = alices.get(GATES)
    assert text not in page.content.decode()
    assert f"Refund service Active For {agent.agent_id} {gate.hint} created" in text_of(page)
    assert "never used expires" in text_of(page)
    assert "alice created a gate key" in text_of(alices.get("/audit/"))


def test_the_list_says_when_a_key_was_used(alices: Person, gate: Gate) -> None:
    gates.touch(gate, at=database_now())

    page = text_of(alices.get(GATES))
    assert "last used" in page
    assert "never used" not in page


def test_an_owner_revokes_a_key_after_a_question(alices: Person, gate: Gate) -> None:
    asked = alices.get(f"{GATES}garden/{gate.pk}/revoke")
    assert "Revoke the key of Deploys" in text_of(asked)
    assert Gate.objects.get().revoked_at is None

    page = text_of(revoke(alices, gate))

    assert "The key of Deploys was revoked. It no longer works." in page
    assert "Deploys Revoked" in page
    assert "Revoke the key of Deploys" not in page
    assert Gate.objects.get().revoked_at is not None
    assert AuditEvent.objects.get(event="gate.revoked").actor_name == "alice"


def test_the_same_form_issues_one_key(alices: Person, agent: Agent) -> None:
    key_shown(issue(alices, agent, version=0))

    again = issue(alices, agent, version=0)

    assert again.status_code == 410
    assert "yours was not created" in text_of(again)
    assert Gate.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "Enter a name."),
        ({"name": "two\nlines"}, ""),
        ({"name": "\u200b\u200b"}, "Use at least one character that people can see."),
        ({"name": "x" * 81}, "80"),
        ({"agents": []}, "Choose at least one agent."),
        ({"days": "7"}, ""),
    ],
)
def test_an_invalid_form_issues_nothing(
    alices: Person, agent: Agent, fields: dict[str, Any], words: str
) -> None:
    refused = issue(alices, agent, **fields)

    assert refused.status_code == 422
    assert words in text_of(refused)
    assert not Gate.objects.exists()


def test_a_key_is_for_agents_of_its_team_that_are_not_archived(
    alices: Person, agent: Agent, team: Team
) -> None:
    other_team = Team.objects.create(name="Other", slug="other")
    theirs = Agent.objects.create(team=other_team, agent_id="theirs")
    archived = Agent.objects.create(team=team, agent_id="old")
    registration.archive(archived, by=SYSTEM, at=database_now())

    page = alices.get(f"{GATES}garden/new/").content.decode()

    assert str(agent.pk) in page
    for other in (theirs, archived):
        assert str(other.pk) not in page
        assert issue(alices, agent, agents=[str(other.pk)]).status_code == 422
    assert not Gate.objects.exists()


def test_a_team_with_25_keys_gets_no_other(alices: Person, agent: Agent) -> None:
    at = database_now()
    for number in range(gates.MAX_USABLE):
        gates.issue(agent.team, name=str(number), agents=[agent], by=SYSTEM, at=at)

    refused = issue(alices, agent)

    assert refused.status_code == 422
    assert "This team has 25 gate keys that work." in text_of(refused)


def test_a_team_without_agents_needs_one_first(alices: Person, team: Team) -> None:
    assert "has no agents yet" in text_of(alices.get(f"{GATES}garden/new/"))


def test_only_owners_see_gate_keys(
    alices: Person, bobs: Person, ritas: Person, mallory: User, gate: Gate
) -> None:
    for person in (bobs, ritas, Person(mallory)):
        assert "Deploys" not in text_of(person.get(GATES))
        assert person.client.get(f"{GATES}garden/new/").status_code == 404
        assert person.client.get(f"{GATES}garden/{gate.pk}/revoke").status_code == 404
        refused = person.client.post(f"{GATES}garden/{gate.pk}/revoke", by_hand=True)
        assert refused.status_code == 404
    assert "you don't own a team" in text_of(bobs.get(GATES))
    assert Gate.objects.get().revoked_at is None
    assert "Deploys" in text_of(alices.get(GATES))


def test_the_overview_counts_the_keys_that_work(
    alices: Person, bobs: Person, gate: Gate, agent: Agent
) -> None:
    issue(alices, agent)
    gates.revoke(gate, by=SYSTEM, at=database_now())

    assert "Gate keys 1 Change Keys of services" in text_of(alices.get("/settings/"))
    assert "Gate keys 1" not in text_of(bobs.get("/settings/"))


def test_the_page_makes_as_many_queries_for_twenty_keys_as_for_one(
    alices: Person, agent: Agent, gate: Gate, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(12) as one:
        alices.get(GATES)
    for number in range(19):
        at = database_now()
        gates.issue(agent.team, name=str(number), agents=[agent], by=SYSTEM, at=at)

    with django_assert_max_num_queries(len(one)):
        alices.get(GATES)
