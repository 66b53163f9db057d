"""A delivery in one statement is the delivery that is made step by step
(docs/decisions/0029-a-delivery-in-one-statement.md)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models import Model
from django.utils import timezone
from psycopg import _queries

from accounts.agents import keys
from accounts.agents.quota import AgentPaused, Allowance, KeyEnded, QuotaSpent
from accounts.models import Absence, Agent, ApiKey, AuditEvent, Membership, User
from database.compiled_queries import fields_of
from database.idempotency import Idempotency
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeRule
from wake.deliveries import deliver
from wake.models import AssignedPerson, Assignment, Delivery, one_statement

pytestmark = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")

REQUIRED: dict[str, Any] = {
    "agent_id": "research-agent-01",
    "provider": "claude",
    "type": "question",
    "headline": "Größer 🎉",
    "summary": "100 % of it, %s too.",
}
ALL: dict[str, Any] = {
    **REQUIRED,
    "details_json": '{ "z": 1.0, "a": "\\u00fc" }',
    "timeout_seconds": 604_800,
    "assumption": "I go on.",
    "on_timeout": "proceed",
    "thread": "a thread",
    "priority": "high",
    "quorum": 2,
    "irreversible": True,
    "extensions": {"more": ["of", {"it": None}]},
}


@pytest.mark.parametrize("fields", [REQUIRED, ALL], ids=["required", "all"])
@pytest.mark.parametrize("once", [None, Idempotency("once", "0" * 64)], ids=["", "idempotent"])
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
def test_both_ways_store_the_same(
    key: ApiKey,
    fields: dict[str, Any],
    once: Idempotency | None,
    is_encrypted: bool,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = is_encrypted
    at = timezone.now()

    at_once = _delivered(key, fields, once, at=at)
    monkeypatch.setattr(one_statement, "store", lambda *_, **__: None)
    step_by_step = _delivered(key, fields, once, at=at + timedelta(hours=25))

    assert at_once == step_by_step


@pytest.mark.parametrize("only_they", [False, True])
def test_both_ways_assign_the_same(
    key: ApiKey, make_rule: MakeRule, bob: User, only_they: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_rule(people=[bob], role="owner", only_they=only_they, needed=3)
    carla = User.objects.create_user("carla@example.com")
    Membership.objects.create(team=key.agent.team, user=carla, role="reviewer")
    at = timezone.now()
    Absence.objects.create(user=bob, until=at + timedelta(days=1), deputy=carla)

    def assigned() -> Any:
        agent = keys.look_up_again(key, at=at).agent
        pk = deliver(agent, key=key, at=at, **REQUIRED).delivery.pk
        assert Delivery.objects.get(pk=pk).quorum == 3
        people = AssignedPerson.objects.filter(assignment__deliveries=pk).order_by("name")
        assignment = (
            Assignment.objects.filter(deliveries=pk).values("rule_version", "only_they").get()
        )
        return assignment, list(people.values("user", "name", "deputy_for", "taken_at"))

    deliver(key.agent, key=key, at=at, **REQUIRED)
    at_once = assigned()
    monkeypatch.setattr(one_statement, "store", lambda *_, **__: None)

    assert at_once == assigned()
    assert [person["name"] for person in at_once[1]] == ["alice", "bob", "carla"]


def _delivered(
    key: ApiKey, fields: dict[str, Any], once: Idempotency | None, *, at: datetime
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], Allowance | None]:
    """Returns everything that is stored, its times counted from `at`."""
    delivered = deliver(key.agent, key=key, idempotency=once, address="192.0.2.1", at=at, **fields)
    row = Delivery.objects.get(pk=delivered.delivery.pk)
    for name in ("created_at", "activity_at", "expires_at"):
        assert getattr(delivered.delivery, name) == getattr(row, name)
    event = AuditEvent.objects.get(event="delivery.received", object_id=str(row.pk))
    agent, spent = Agent.objects.get(pk=key.agent_id), ApiKey.objects.get(pk=key.pk)
    now_us = (at - datetime.fromtimestamp(0, at.tzinfo)) // timedelta(microseconds=1)
    stamps = {"activity_us": agent.activity_us - now_us, "quota_us": spent.quota_us - now_us}
    return (
        _members(row, "id", at=at),
        _members(event, "object_id", at=at),
        stamps,
        delivered.allowance,
    )


def _members(row: Model, but: str, *, at: datetime) -> dict[str, Any]:
    members = {field.attname: getattr(row, field.attname) for field in fields_of(row.__class__)}
    del members[but]
    return {
        name: value - at if isinstance(value, datetime) else value
        for name, value in members.items()
        if name != "idempotency_key"  # the later one takes it over
    }


def test_a_delivery_is_one_statement(caller: AgentClient, django_assert_num_queries: Any) -> None:
    caller.deliver()

    with django_assert_num_queries(1):
        caller.deliver()


def test_an_assigned_delivery_is_one_statement(
    caller: AgentClient, make_rule: MakeRule, bob: User, django_assert_num_queries: Any
) -> None:
    make_rule(people=[bob])
    caller.deliver()

    with django_assert_num_queries(1):
        caller.deliver()
    assert Delivery.objects.filter(assignment__people__user=bob).count() == 2


def test_stamps_increase_also_when_the_clock_does_not(key: ApiKey) -> None:
    at = timezone.now()

    stamps = [deliver(key.agent, key=key, at=at, **REQUIRED).delivery.activity_at for _ in range(3)]

    assert stamps == [at, at + timedelta(microseconds=1), at + timedelta(microseconds=2)]


@pytest.mark.parametrize(
    ("model", "change", "error"),
    [
        (ApiKey, {"revoked_at": timezone.now()}, KeyEnded),
        (ApiKey, {"expires_at": timezone.now() - timedelta(days=1)}, KeyEnded),
        (ApiKey, {"quota_us": 2**62}, QuotaSpent),
        (Agent, {"paused_at": timezone.now()}, AgentPaused),
    ],
)
def test_changes_since_the_key_was_cached_apply(
    key: ApiKey, model: Any, change: dict[str, Any], error: type[Exception]
) -> None:
    remembered = keys.remembered(key.text)  # type: ignore[attr-defined]
    assert remembered
    model.objects.filter(pk__in=[key.pk, key.agent_id]).update(**change)

    with pytest.raises(error):
        deliver(remembered.agent, key=remembered, at=timezone.now(), **REQUIRED)

    assert not Delivery.objects.exists()
    assert not AuditEvent.objects.filter(event="delivery.received").exists()


def test_a_delivery_that_waited_leaves_the_remembered_agent_as_it_is(
    key: ApiKey, make_rule: MakeRule, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may have matched a delivery by the rules of that agent, and compares their
    version in its statement."""
    look_up_again = keys.look_up_again

    def then_ruled(key: ApiKey, *, at: datetime) -> ApiKey:
        again = look_up_again(key, at=at)
        make_rule(people=[bob])
        return again

    with monkeypatch.context() as patched:
        patched.setattr(one_statement, "store", lambda *_args, **_more: None)
        patched.setattr(keys, "look_up_again", then_ruled)
        deliver(key.agent, key=key, at=timezone.now(), **REQUIRED)

    remembered = keys.remembered(key.text)  # type: ignore[attr-defined]
    assert remembered
    assert remembered.agent.rules_version == 0
    assert Agent.objects.get(pk=key.agent_id).rules_version != 0


def test_a_limit_lowered_since_applies(key: ApiKey) -> None:
    remembered = keys.remembered(key.text)  # type: ignore[attr-defined]
    assert remembered
    Agent.objects.filter(pk=key.agent_id).update(hourly_limit=1)

    allowance = deliver(remembered.agent, key=remembered, at=timezone.now(), **REQUIRED).allowance

    assert allowance
    assert allowance.limit == 1


@pytest.mark.parametrize("is_assigned", [False, True])
def test_psycopg_keeps_the_parsed_statement(is_assigned: bool) -> None:
    """It parses a longer one each time that it is run."""
    statement = one_statement._statement(is_assigned=is_assigned)

    assert statement.count("%s") <= _queries.MAX_CACHED_STATEMENT_PARAMS
    assert len(statement) <= _queries.MAX_CACHED_STATEMENT_LENGTH
