"""People read the audit of their own teams."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import aliases, keys, registration
from accounts.audit import SYSTEM, Actor, person, record, record_many
from accounts.audit.sentences import EVENTS
from accounts.models import Agent, ApiKey, AuditEvent, Team, User
from inbox.audit import events as audit_events
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.acknowledgements import acknowledge
from wake.deadlines import time_out_overdue
from wake.models import Delivery


def test_each_line_says_who_did_what(
    alices: Person, bobs: Person, caller: AgentClient, make_delivery: MakeDelivery, team: Team
) -> None:
    undone, passed = make_delivery(headline="Undone"), make_delivery(timeout_seconds=60)
    bobs.answer(undone)
    bobs.undo(undone)
    time_out_overdue(at=timezone.now() + timedelta(hours=1))
    update = make_delivery(type="update", headline="Only an update")
    acknowledge([update.pk], by=bobs.user, at=timezone.now())
    caller.deliver(headline="By HTTP")

    page = text_of(alices.get("/audit/"))

    assert "research-agent-01 delivered By HTTP" in page
    assert f"agent {caller.key.hint} from 127.0.0.1" in page
    assert "bob approved Undone" in page
    assert "person from 127.0.0.1" in page
    assert re.search(r"Undone by bob after \d+ s Undone", page)
    assert f"Expired without an answer {passed.headline}" in page
    assert "bob acknowledged it Only an update" in page


def test_every_kind_of_event_has_a_sentence(alices: Person, team: Team, agent: Agent) -> None:
    for event in EVENTS:
        record(event, by=Actor("operator", name="Operator"), of=agent, team=team)
    record("lamp.switched_off", by=Actor("nobody"), of=agent, team=team)

    newer = alices.get("/audit/")
    older = alices.get("/audit/", before=str(newer.context["events_page"].older))
    page = text_of(newer) + text_of(older)

    assert "Someone: lamp switched off research-agent-01" in page
    assert "CLI registered an agent research-agent-01" in page
    assert "Callback to failed after attempts" in page


def test_an_alias_event_names_its_agent(alices: Person, agent: Agent) -> None:
    aliases.withdraw(aliases.grant(agent, "crawler-*", by=SYSTEM), by=SYSTEM)

    page = text_of(alices.get("/audit/"))

    assert "Wake added an alias for research-agent-01 crawler-*" in page
    assert "Wake removed an alias of research-agent-01 crawler-*" in page


def test_an_event_has_a_page_of_its_own(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(headline="Shown with \u202e care")
    answer(delivery)
    event = AuditEvent.objects.get(event="delivery.answered")

    page = alices.get(f"/audit/{event.pk}/")

    assert f'href="/deliveries/{delivery.pk}/"' in page.content.decode()
    text = text_of(page)
    assert "alice approved" in text
    assert "Shown with ⟨U+202E⟩ care" in text
    assert f'"content_hash": "{delivery.content_hash}"' in text
    assert event.at.isoformat() in text


@pytest.mark.parametrize("number", ["0", "999999", "9" * 40])
def test_an_unknown_event_is_a_404(alices: Person, number: str) -> None:
    assert alices.get(f"/audit/{number}/").status_code == 404


def test_another_teams_event_is_the_same_404_and_is_not_listed(
    alices: Person, elsewhere: Delivery
) -> None:
    event = AuditEvent.objects.get(object_id=str(elsewhere.pk))
    nobodys = AuditEvent.objects.create(
        event="person.signed_in", actor_kind="person", object_kind="user", object_id="1"
    )

    for hidden in (event, nobodys):
        assert alices.get(f"/audit/{hidden.pk}/").status_code == 404
    for query in ({}, {"agent": str(elsewhere.agent_id)}, {"event": "delivery.received"}):
        for path in ("/audit/", "/audit/export.csv", "/audit/export.jsonl"):
            assert b"secret plan" not in _body(alices.get(path, **query))


def test_events_are_filtered_by_actor_kind_and_time(
    alices: Person, alice: User, bob: User, team: Team, agent: Agent
) -> None:
    noon = timezone.now().replace(hour=12, minute=0)
    record("agent.paused", by=person(alice), of=agent, team=team, at=noon - timedelta(days=3))
    record("agent.resumed", by=person(bob), of=agent, team=team, at=noon - timedelta(days=2))
    record("agent.paused", by=SYSTEM, of=agent, team=team, at=noon - timedelta(days=1))

    def actors_of(**query: str) -> list[str]:
        listed = alices.get("/audit/", **query).context["lines"]
        kinds = {"agent.paused", "agent.resumed"}
        return [line.event.actor_name for line in listed if line.event.event in kinds]

    def day(ago: int) -> str:
        return (noon - timedelta(days=ago)).date().isoformat()

    assert actors_of() == ["Wake", "bob", "alice"]
    assert actors_of(actor=f"person:{bob.pk}") == ["bob"]
    assert actors_of(actor="system") == ["Wake"]
    assert actors_of(event="agent.paused") == ["Wake", "alice"]
    assert actors_of(**{"from": day(2)}) == ["Wake", "bob"]
    assert actors_of(**{"from": day(3), "to": day(2)}) == ["bob", "alice"]
    assert actors_of(to=day(2), event="agent.paused", actor=f"person:{alice.pk}") == ["alice"]
    assert actors_of(actor="person:x", event="y", agent="z", to="0001-01-01", before="1-1-1") != []
    assert "No matching events." in text_of(alices.get("/audit/", actor="person:999999"))


def test_days_are_in_the_time_zone_of_the_viewer(
    alices: Person, alice: User, team: Team, agent: Agent
) -> None:
    alice.time_zone = "Asia/Kolkata"
    alice.save(update_fields=["time_zone"])
    late = datetime.fromisoformat("2026-03-01T20:00:00+00:00")  # the second of March for Alice
    record("agent.paused", by=SYSTEM, of=agent, team=team, at=late)

    def count(day: str) -> int:
        return len(alices.get("/audit/", **{"from": day, "to": day}).context["lines"])

    assert (count("2026-03-01"), count("2026-03-02"), count("2026-03-03")) == (0, 1, 0)
    assert b'value="2026-03-02"' in alices.get("/audit/", to="2026-03-02").content


def test_the_filter_of_an_agent_includes_its_deliveries(
    alices: Person,
    agent: Agent,
    key: ApiKey,
    make_delivery: MakeDelivery,
    answer: Any,
    others: AgentClient,
) -> None:
    answer(make_delivery(headline="Mine"))
    registration.pause(agent, by=SYSTEM, at=timezone.now())
    others.deliver(headline="Not mine")

    listed = alices.get("/audit/", agent=str(agent.pk)).context["lines"]

    assert {line.event.event for line in listed} == {
        "delivery.received",
        "delivery.answered",
        "agent.paused",
        "key.issued",
        "secret.issued",
    }
    assert "Not mine" not in {line.name for line in listed}


def test_the_filter_of_an_agent_includes_its_keys_and_aliases(
    alices: Person, agent: Agent, second_team: Team
) -> None:
    """The filter shows this agent alone, neither another agent of the team nor a namesake
    elsewhere."""
    neighbour = Agent.objects.create(team=agent.team, agent_id="writing-agent")
    namesake = Agent.objects.create(team=second_team, agent_id=agent.agent_id)
    for each in (agent, neighbour, namesake):
        now = timezone.now()
        key, _ = keys.mint(each, by=SYSTEM)
        keys.rotate(key, by=SYSTEM, overlap=timedelta(hours=1), at=now)
        keys.revoke(key, by=SYSTEM, at=now)
        aliases.withdraw(aliases.grant(each, "crawler-*", by=SYSTEM), by=SYSTEM)

    lines = alices.get("/audit/", agent=str(agent.pk)).context["lines"]

    listed = [line for line in lines if line.event.object_kind != "agent"]
    assert sorted(line.event.event for line in listed) == [
        "claim.added",
        "claim.removed",
        "key.issued",
        "key.issued",
        "key.revoked",
        "key.rotated",
    ]
    assert {line.event.team_id for line in listed} == {agent.team_id}
    assert {line.event.detail["agent"] for line in listed} == {agent.agent_id}


def test_older_events_are_on_the_next_page(alices: Person, team: Team, agent: Agent) -> None:
    at = timezone.now()
    for minutes in range(60):
        record(
            "agent.paused", by=SYSTEM, of=agent, team=team, at=at - timedelta(minutes=minutes // 2)
        )

    first = alices.get("/audit/", event="agent.paused")
    older = first.context["events_page"].older
    second = alices.get("/audit/", event="agent.paused", before=str(older))

    ids = [line.event.pk for page in (first, second) for line in page.context["lines"]]
    assert (len(ids), len(set(ids))) == (60, 60)
    assert f"event=agent.paused&amp;before={older}" in first.content.decode()
    assert second.context["events_page"].older is None


def test_a_rare_event_is_searched_for_in_bounded_steps(
    alices: Person, team: Team, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = timezone.now()
    record("agent.resumed", by=SYSTEM, of=agent, team=team, at=at - timedelta(days=1))
    # record_many() stores many events with the same time, and a page may end between two of them.
    record_many("delivery.timed_out", by=SYSTEM, of=[_Row(agent)] * 25, at=at)
    # A test cannot pass a limit to the page, and 50,000 events take too long to store.
    monkeypatch.setattr(audit_events, "MAX_SCANNED", 10)

    looked, pages, before = [], 0, ""
    while True:
        page = alices.get("/audit/", event="agent.resumed", before=before)
        looked += [line.event.event for line in page.context["lines"]]
        pages += 1
        if page.context["events_page"].older is None:
            break
        assert "No matching events so far." in text_of(page)
        assert "Search further back" in text_of(page)
        before = str(page.context["events_page"].older)

    assert looked == ["agent.resumed"]
    assert pages == 3


def test_the_page_takes_few_queries_for_any_length(
    alices: Person, team: Team, second_team: Team, agent: Agent
) -> None:
    def queries(**query: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            alices.get("/audit/", **query)
        return len(asked)

    few = queries(event="agent.paused")
    for _ in range(60):
        record("agent.paused", by=SYSTEM, of=agent, team=team)

    # Three of the queries read the size of the log, its newest checkpoint, and the keys of
    # checkpoints.
    assert queries(event="agent.paused") == few <= 10


def _body(answer: Any) -> bytes:
    return answer.getvalue() if answer.streaming else bytes(answer.content)


class _Row:
    """Has the attributes that record_many() reads."""

    def __init__(self, agent: Agent) -> None:
        self._meta, self.pk, self.team_id = agent._meta, agent.pk, agent.team_id

    def __str__(self) -> str:
        return "many"
