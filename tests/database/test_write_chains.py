"""A chain of writes stores the same rows in one statement and in several steps, and reports what
prevented the writes."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import BooleanField, F, Q

from accounts.models import Agent, AuditEvent, Team
from database.compiled_queries import Parameter, list_parameter, parameter
from database.write_chains import (
    Chain,
    Change,
    Given,
    GivenDelay,
    GivenMember,
    GivenText,
    Lock,
    New,
)
from tests.types import UseSteps
from wake.models import CallbackHost

pytestmark = pytest.mark.django_db

AT_US = 1_700_000_000_000_000


@pytest.fixture(params=["steps", "one statement"])
def way(request: pytest.FixtureRequest, use_steps: UseSteps) -> str:
    """Runs the test in both ways on PostgreSQL, and in steps on SQLite."""
    if request.param == "steps":
        use_steps()
    elif not settings.DATABASE_URL:
        pytest.skip("about PostgreSQL")
    return str(request.param)


def agent_lock() -> Lock:
    return Lock(
        "agent",
        Agent.objects.filter(pk=parameter("agent", Agent, "id")),
        returns=["team__slug"],
        conditions={
            "is_running": Q(paused_at__isnull=True),
            "same_limit": Q(hourly_limit__same_as=parameter("limit", Agent, "hourly_limit")),
            "agreed": Parameter("agreed", BooleanField()),
        },
    )


def stamped_event() -> Chain:
    lock = agent_lock()
    stamp = Change("stamp", lock, returns=["activity_us"], activity_us=F("activity_us") + 5)
    return Chain(lock, stamp, New("event", AuditEvent, at=GivenDelay("stamp", "activity_us")))


def event(agent: Agent) -> AuditEvent:
    detail = {"text": "100 % and %s", "none": None}
    return AuditEvent(at=agent.created_at, event="agent.tried", actor_name="Größe", detail=detail)


def test_it_writes_if_all_conditions_hold(way: str, agent: Agent) -> None:
    Agent.objects.update(activity_us=AT_US, hourly_limit=7)
    row = event(agent)

    stored = stamped_event().store(row, agent=agent.pk, limit=7, agreed=True, now_us=AT_US)

    assert not stored.failed
    assert stored.columns["agent", "team__slug"] == agent.team.slug
    assert stored.columns["stamp", "activity_us"] == AT_US + 5
    saved = AuditEvent.objects.get(event="agent.tried")
    assert (saved.at, saved.detail, saved.actor_name) == (row.at, row.detail, row.actor_name)
    assert (saved.at - agent.created_at).microseconds == 5
    assert row._state.adding is False


@pytest.mark.parametrize(
    ("change", "given", "failed"),
    [
        ({"paused_at": "2026-01-01T00:00Z"}, {}, {"is_running"}),
        ({"hourly_limit": 8}, {}, {"same_limit"}),
        ({"hourly_limit": 8}, {"agreed": False}, {"same_limit", "agreed"}),
        ({}, {"agreed": False}, {"agreed"}),
        ({}, {"agent": "00000000-0000-0000-0000-000000000000"}, None),
    ],
)
def test_it_says_which_conditions_failed_and_writes_nothing(
    way: str, agent: Agent, change: dict[str, Any], given: dict[str, Any], failed: set[str] | None
) -> None:
    Agent.objects.update(activity_us=AT_US, **change)
    values = {"agent": agent.pk, "limit": None, "agreed": True, "now_us": AT_US, **given}

    stored = stamped_event().store(event(agent), **values)

    assert stored.failed == (failed or {"agent", "is_running", "same_limit", "agreed"})
    assert Agent.objects.get().activity_us == AT_US
    assert not AuditEvent.objects.filter(event="agent.tried").exists()


def test_a_lock_of_any_number_of_rows_has_a_new_row_for_each(way: str, team: Team) -> None:
    lines = [CallbackHost.objects.create(team=team, pattern=p) for p in ("b.example", "a.example")]
    CallbackHost.objects.create(team=team, pattern="c.example")
    chosen = CallbackHost.objects.filter(pk__one_of=list_parameter("lines", CallbackHost, "id"))
    lock = Lock("line", chosen.order_by("pk"), returns=["pattern", "team_id"], any_number=True)
    each = New(
        "event",
        AuditEvent,
        for_each=lock,
        team_id=Given("line", "team_id"),
        object_id=GivenText("line", "pk"),
        detail=GivenMember("line", "pattern", "host"),
    )
    chain = Chain(
        lock, Change("changed", lock, created_at=parameter("at", Team, "created_at")), each
    )
    row = AuditEvent(at=team.created_at, event="line.tried", detail={"a": 1})

    stored = chain.store(row, lines=[line.pk for line in lines], at=team.created_at)
    none = chain.store(row, lines=[], at=team.created_at)

    assert (stored.number, none.number) == (2, 0)
    saved = AuditEvent.objects.filter(event="line.tried").order_by("pk")
    assert {each.team_id for each in saved} == {team.pk}
    assert [each.object_id for each in saved] == [str(line.pk) for line in lines]
    assert [each.detail for each in saved] == [{"a": 1, "host": line.pattern} for line in lines]
    changed = CallbackHost.objects.filter(created_at=team.created_at)
    assert {line.pk for line in changed} == {line.pk for line in lines}


def test_a_key_that_the_database_generates_is_given_to_a_later_row(way: str, team: Team) -> None:
    lock = Lock("team", Team.objects.filter(pk=parameter("team", Team, "id")))
    first = New("first", CallbackHost)
    second = New("second", AuditEvent, object_id=GivenText("first", "id"))
    line = CallbackHost(team=team, pattern="a.example")
    row = AuditEvent(at=team.created_at, event="line.tried", detail={})

    Chain(lock, first, second).store(line, row, team=team.pk)

    assert CallbackHost.objects.get() == line
    assert AuditEvent.objects.get(event="line.tried").object_id == str(line.pk) == row.object_id


def test_one_statement_is_one_statement(agent: Agent, django_assert_num_queries: Any) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")
    chain = stamped_event()

    with django_assert_num_queries(1):
        chain.store(event(agent), agent=agent.pk, limit=None, agreed=True, now_us=AT_US)
