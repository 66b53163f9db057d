"""A delivery is the same row whether one statement or several steps store it. Changes that were
made after the delivery's sender was read count, too
(docs/decisions/0066-a-verb-is-told-once.md)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models import F, Model
from django.utils import timezone

from accounts.agents import keys
from accounts.agents.quota import AgentPaused, Allowance, KeyEnded, QuotaSpent
from accounts.models import Absence, Agent, ApiKey, AuditEvent, Membership, User
from database import outages
from database.compiled_queries import fields_of
from database.idempotency import Idempotency
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.types import MakeRule, UseSteps
from wake.deliveries import deliver
from wake.models import AssignedPerson, Assignment, Delivery
from wake.models.delivering import delivering
from wake.proof.digest import content_digest

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
    "claim_within_seconds": 60,
    "digest": True,
    "extensions": {"more": ["of", {"it": None}]},
}


@pytest.fixture(autouse=True)
def compiled_again() -> Iterator[None]:
    yield
    delivering.cache_clear()


@pytest.mark.parametrize("fields", [REQUIRED, ALL], ids=["required", "all"])
@pytest.mark.parametrize("once", [None, Idempotency("once", "0" * 64)], ids=["", "idempotent"])
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
def test_both_ways_store_the_same(
    key: ApiKey,
    fields: dict[str, Any],
    once: Idempotency | None,
    is_encrypted: bool,
    settings: Any,
    use_steps: UseSteps,
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = is_encrypted
    at = timezone.now()

    at_once = _delivered(key, fields, once, at=at)
    use_steps()
    delivering.cache_clear()
    step_by_step = _delivered(key, fields, once, at=at + timedelta(hours=25))

    assert at_once == step_by_step


@pytest.mark.parametrize("only_they", [False, True])
def test_both_ways_assign_the_same(
    key: ApiKey, make_rule: MakeRule, bob: User, only_they: bool, use_steps: UseSteps
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
    use_steps()
    delivering.cache_clear()

    assert at_once == assigned()
    assert [person["name"] for person in at_once[1]] == ["alice", "bob", "carla"]


def _delivered(
    key: ApiKey, fields: dict[str, Any], once: Idempotency | None, *, at: datetime
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], Allowance | None]:
    """Returns everything that is stored. Times count from `at`."""
    delivered = deliver(key.agent, key=key, idempotency=once, address="192.0.2.1", at=at, **fields)
    row = Delivery.objects.get(pk=delivered.delivery.pk)
    for name in ("created_at", "activity_at", "expires_at"):
        assert getattr(delivered.delivery, name) == getattr(row, name)
    event = AuditEvent.objects.get(event="delivery.received", object_id=str(row.pk))
    # The nonce is different each time, and so is the digest.
    assert event.detail.pop("content_hash") == row.content_hash == content_digest(row, files=[])
    row.nonce = row.content_hash = ""
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
        if name != "idempotency_key"  # the later delivery takes the Idempotency-Key over
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


def test_a_rule_that_was_made_since_assigns_the_delivery(
    key: ApiKey, make_rule: MakeRule, bob: User
) -> None:
    remembered = keys.remembered(key.text)  # type: ignore[attr-defined]
    assert remembered
    make_rule(people=[bob])

    delivery = deliver(remembered.agent, key=remembered, at=timezone.now(), **REQUIRED).delivery

    assert [each.name for each in AssignedPerson.objects.filter(assignment__deliveries=delivery)]
    assert remembered.agent.rules_version == 0


def test_a_delivery_that_never_finds_the_team_as_it_was_read_is_asked_to_repeat(
    key: ApiKey,
) -> None:
    def change() -> None:
        Agent.objects.update(rules_version=F("rules_version") + 1)

    Agent.objects.filter(pk=key.agent_id).update(rules_version=1)

    with (
        wrapped.after(keys, "look_up_again", change),
        pytest.raises(outages.Contended) as failure,
    ):
        deliver(key.agent, key=key, at=timezone.now(), **REQUIRED)

    assert outages.will_pass(failure.value)
    assert not Delivery.objects.exists()


def test_a_limit_lowered_since_applies(key: ApiKey) -> None:
    remembered = keys.remembered(key.text)  # type: ignore[attr-defined]
    assert remembered
    Agent.objects.filter(pk=key.agent_id).update(hourly_limit=1)

    allowance = deliver(remembered.agent, key=remembered, at=timezone.now(), **REQUIRED).allowance

    assert allowance
    assert allowance.limit == 1
