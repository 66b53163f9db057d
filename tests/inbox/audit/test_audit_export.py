"""The audit is exported whole, streamed, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import json
import tracemalloc
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient  # noqa: TID251 (only reads)
from django.utils import timezone

from accounts.audit import SYSTEM, record
from accounts.models import Agent, AuditEvent, Team, User
from tests.inbox.person import Person
from tests.types import MakeDelivery


def _rows(person: Person, **query: str) -> list[dict[str, str]]:
    answer = person.get("/audit/export.csv", **query)
    assert answer.status_code == 200
    return list(csv.DictReader(StringIO(answer.getvalue().decode(), newline="")))


def _records(person: Person, **query: str) -> list[dict[str, Any]]:
    answer = person.get("/audit/export.jsonl", **query)
    return [json.loads(line) for line in answer.getvalue().decode().splitlines()]


def test_both_files_hold_every_event_newest_first(
    alices: Person, make_delivery: MakeDelivery, answer: Any
) -> None:
    delivery = make_delivery()
    answer(delivery)

    rows, records = _rows(alices), _records(alices)

    assert [int(row["id"]) for row in rows] == [record["id"] for record in records]
    assert [record["event"] for record in records][:2] == ["delivery.answered", "delivery.received"]
    newest = records[0]
    assert (newest["team"], newest["words"]) == ("garden", "alice approved")
    assert newest["object_id"] == str(delivery.pk)
    assert newest["detail"]["content_hash"] == delivery.content_hash
    assert json.loads(rows[0]["detail"]) == newest["detail"]
    assert {row["object_name"] for row in rows if row["object_kind"] == "delivery"} == {""}


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(alices: Person, team: Team, begins: str) -> None:
    agent = Agent(team=team, agent_id=f'{begins}HYPERLINK("https://evil.example")')
    record("agent.paused", by=SYSTEM, of=agent, team=team)

    (row,) = _rows(alices)

    assert row["object_name"] == f"'{agent.agent_id}"
    assert json.loads(row["detail"]) == {}


def test_filters_apply_to_the_exports_too(alices: Person, team: Team, agent: Agent) -> None:
    now = timezone.now()
    record("agent.paused", by=SYSTEM, of=agent, team=team, at=now)
    record("agent.resumed", by=SYSTEM, of=agent, team=team, at=now - timedelta(days=9))
    week_ago = (now - timedelta(days=7)).date().isoformat()

    assert [row["event"] for row in _rows(alices, event="agent.resumed")] == ["agent.resumed"]
    assert "agent.resumed" not in {row["event"] for row in _records(alices, **{"from": week_ago})}


def test_only_owners_export_and_only_their_own_teams(
    alices: Person, bobs: Person, ritas: Person, second_team: Team, agent: Agent
) -> None:
    orchards = Agent.objects.create(team=second_team, agent_id="only-read-there")
    record("agent.paused", by=SYSTEM, of=orchards, team=second_team)
    record("agent.paused", by=SYSTEM, of=agent, team=agent.team_id)

    assert bobs.get("/audit/export.csv").status_code == 403
    assert ritas.get("/audit/export.jsonl").status_code == 403
    assert b"export.csv" not in bobs.get("/audit/").content
    assert b"export.csv" in alices.get("/audit/").content
    assert b"only-read-there" in alices.get("/audit/").content
    assert "only-read-there" not in {row["object_name"] for row in _rows(alices)}


def test_a_long_export_is_written_in_parts(alices: Person, team: Team, agent: Agent) -> None:
    at = timezone.now()
    AuditEvent.objects.bulk_create(
        _event(team, at - timedelta(seconds=n // 7)) for n in range(2_500)
    )

    parts = list(alices.get("/audit/export.jsonl", event="agent.paused").streaming_content)

    ids = [json.loads(line)["id"] for line in b"".join(parts).splitlines()]
    assert (len(parts), len(ids), len(set(ids))) == (3, 2_500, 2_500)


def test_memory_does_not_grow_with_the_audit(alices: Person, team: Team) -> None:
    at = timezone.now()
    AuditEvent.objects.bulk_create(_event(team, at) for _ in range(6_000))

    tracemalloc.start()
    try:
        size = sum(len(part) for part in alices.get("/audit/export.csv").streaming_content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size > 6_000 * 400
    assert peak < 12_000_000


def test_an_asgi_server_sends_the_parts_as_they_are_made(alice: User, team: Team) -> None:
    AuditEvent.objects.bulk_create(_event(team, timezone.now()) for _ in range(1_500))

    async def download() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(alice)
        answer: Any = await client.get("/audit/export.jsonl")
        return [part async for part in answer]

    parts = async_to_sync(download)()

    assert [part.count(b"\n") for part in parts] == [1_000, 500]


def _event(team: Team, at: Any) -> AuditEvent:
    return AuditEvent(
        at=at,
        team_id=team.pk,
        event="agent.paused",
        actor_kind="system",
        object_kind="agent",
        object_id="1",
        detail={"reason": "r" * 300},
    )
