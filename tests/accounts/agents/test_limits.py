"""An agent can have an hourly limit, which lowers the server's limit and never raises it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.agents import hourly_limits, keys, quota
from accounts.audit import SYSTEM, person
from accounts.models import Agent, ApiKey, AuditEvent, User
from database.clock import microseconds
from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from wake.models import Delivery

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)
NOW_US = microseconds(NOW)


def limited(agent: Agent, hourly: int | None, *, at: datetime = NOW) -> None:
    hourly_limits.set_limit(agent, hourly, by=SYSTEM, at=at)


def as_found(key: ApiKey) -> ApiKey:
    """Returns the key as a request reads it."""
    return ApiKey.objects.select_related("agent").get(pk=key.pk)


def spend(key: ApiKey, at: datetime = NOW) -> int:
    """Spends one delivery and returns how many further deliveries the hour allows."""
    return quota.spend(as_found(key), now_us=microseconds(at)).remaining


def admitted(key: ApiKey, at: datetime = NOW) -> int:
    """Returns how many deliveries the agent may make at once."""
    count = 0
    while True:
        try:
            spend(key, at)
        except quota.QuotaSpent:
            return count
        count += 1


def test_a_limit_is_how_many_in_an_hour_and_at_once(agent: Agent, key: ApiKey) -> None:
    limited(agent, 10)

    assert admitted(key) == 10
    assert admitted(key, NOW + timedelta(minutes=6, microseconds=-1)) == 0
    assert admitted(key, NOW + timedelta(minutes=6)) == 1
    assert admitted(key, NOW + timedelta(hours=9)) == 10


def test_a_limit_leaves_the_servers_burst_where_that_is_smaller(agent: Agent, key: ApiKey) -> None:
    limited(agent, 60)

    assert admitted(key) == 50
    assert admitted(key, NOW + timedelta(minutes=1)) == 1


def test_a_limit_applies_to_each_mode_and_only_lowers(agent: Agent, key: ApiKey) -> None:
    in_test, _ = keys.mint(agent, by=SYSTEM, mode="test")
    limited(agent, 100)

    assert admitted(in_test) == 5
    assert admitted(in_test, NOW + timedelta(minutes=3)) == 1
    limited(agent, 2)
    assert admitted(in_test, NOW + timedelta(days=1)) == 2


@pytest.mark.parametrize("own", [500, 501, 100_000])
def test_an_agent_limit_never_raises_the_servers_limit(own: int) -> None:
    assert quota.quota_of("live", own) == quota.quota_of("live") == (500, 50)


def test_a_server_limit_that_is_lowered_later_still_applies(agent: Agent, settings: Any) -> None:
    limited(agent, 100)

    settings.WAKE_QUOTA_LIVE = (20, 2)

    assert quota.quota_of("live", 100) == (20, 2)


def test_without_an_agent_limit_the_servers_limit_applies_at_once(
    agent: Agent, key: ApiKey
) -> None:
    limited(agent, 10)
    assert admitted(key) == 10

    limited(agent, None)

    assert admitted(key) == 0, "What was spent is not given back at once,"
    assert spend(key, NOW + timedelta(seconds=7.2)) == 0, "but as soon as the server does."
    assert admitted(key, NOW + timedelta(minutes=6, seconds=7.2)) == 50


@pytest.mark.parametrize("own", [499, 100, 60, 50, 10, 1])
def test_a_lower_limit_does_not_give_quota_back(agent: Agent, key: ApiKey, own: int) -> None:
    for _ in range(45):
        spend(key)

    limited(agent, own)

    assert admitted(key) <= 5


@pytest.mark.parametrize("seed", range(3))
def test_every_delivery_under_changing_limits_fits_the_servers_limit(
    agent: Agent, key: ApiKey, seed: int
) -> None:
    chance, at = Random(seed), NOW  # noqa: S311 - the same each time
    plain, _ = keys.mint(Agent.objects.create(team=agent.team, agent_id="plain"), by=SYSTEM)

    for _ in range(80):
        at += timedelta(seconds=chance.choice([0, 0, 0, 1, 8, 100, 4_000]))
        if chance.random() < 0.3:
            limited(agent, chance.choice([None, 1, 3, 10, 49, 50, 51, 200, 499]), at=at)
        for _ in range(admitted(key, at)):
            spend(plain, at)  # raises QuotaSpent if the key was over its limit


def test_a_limit_adds_no_query_to_a_delivery(
    caller: AgentClient, agent: Agent, key: ApiKey
) -> None:
    caller.deliver()
    with CaptureQueriesContext(connection) as before:
        caller.deliver()
    limited(agent, 10)
    caller.deliver()  # the process remembers the key with its former limit

    with CaptureQueriesContext(connection) as after:
        caller.deliver()

    assert len(after) == len(before)


def test_the_error_names_the_agents_limit_and_who_may_change_it(
    caller: AgentClient, agent: Agent
) -> None:
    limited(agent, 2)

    first, _, refused = [caller.post(caller.payload()) for _ in range(3)]

    assert (first["X-RateLimit-Limit"], first["X-RateLimit-Remaining"]) == ("2", "1")
    error_of(refused, 429, "rate_limited")
    message = refused.json()["error"]["message"]
    assert "a limit of its own, 2 an hour" in message
    assert "an owner of the agent's team can change" in message
    assert 1_700 < int(refused["Retry-After"]) <= 1_800
    assert Delivery.objects.count() == 2


def test_the_response_names_the_servers_quota_when_that_was_exceeded(
    in_test_mode: AgentClient, agent: Agent
) -> None:
    limited(agent, 100)

    refused = [in_test_mode.post(in_test_mode.payload()) for _ in range(6)][-1]

    error_of(refused, 429, "rate_limited")
    assert "of its own" not in refused.json()["error"]["message"]


def test_the_audit_records_once_who_limited_an_agent(agent: Agent, alice: User) -> None:
    for hourly in (10, 10, None, None):
        hourly_limits.set_limit(agent, hourly, by=person(alice, "203.0.113.7"), at=NOW)

    events = AuditEvent.objects.filter(event="agent.limited").order_by("pk")
    assert [event.detail for event in events] == [{"an_hour": 10}, {"an_hour": None}]
    assert {(event.actor_id, event.address, event.team_id) for event in events} == {
        (str(alice.pk), "203.0.113.7", agent.team_id)
    }


@pytest.mark.parametrize(
    ("hourly", "words"),
    [(0, "pause the agent"), (-1, "pause the agent"), (500, "allows a key 500 an hour")],
)
def test_a_limit_of_zero_or_above_the_servers_is_refused(
    agent: Agent, hourly: int, words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        limited(agent, hourly)

    agent.refresh_from_db()
    assert agent.hourly_limit is None


def test_the_database_refuses_a_limit_of_zero(agent: Agent) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Agent.objects.filter(pk=agent.pk).update(hourly_limit=0)
