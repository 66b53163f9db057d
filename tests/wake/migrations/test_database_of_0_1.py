"""A database of version 0.1 migrates with everything in it, and processes of 0.1 that still run can
write to it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from accounts.audit import totals
from wake.callbacks.kinds import kind_of
from wake.models import Callback, Delivery, FailingTarget

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

VERSION_0_1 = [
    ("accounts", "0008_hourly_limit_of_an_agent"),
    ("wake", "0017_failing_targets_of_a_kind"),
    ("inbox", "0005_phrases_are_content"),
    ("relay", "0006_links_by_caller"),
]
TASK = uuid.UUID("5b1c1f0e-4a55-4c39-9d0c-5d7c4f3a2b10")


def _migrate_to_today() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.fixture
def apps_0_1() -> Iterator[Any]:
    """Returns the models of version 0.1, on a database as that version left it."""
    MigrationExecutor(connection).migrate(VERSION_0_1)
    yield MigrationExecutor(connection).loader.project_state(VERSION_0_1).apps
    _migrate_to_today()


def _answered(apps: Any, agent: Any, *, relayed: bool = False) -> Any:
    at = timezone.now()
    delivery = apps.get_model("wake", "Delivery").objects.create(
        team=agent.team,
        agent=agent,
        claimed_agent_id=agent.agent_id,
        type="question",
        headline="Publish?",
        details_json='{"price":0.10}',
        relayed=relayed,
        created_at=at,
        activity_at=at,
        answered_at=at,
    )
    return apps.get_model("wake", "Response").objects.create(
        delivery=delivery,
        status="approved",
        by_name="Bob",
        answered_at=at,
        release_at=at,
        responded_at=at,
    )


def _agent(apps: Any) -> Any:
    team = apps.get_model("accounts", "Team").objects.create(name="Bakery", slug="bakery")
    return apps.get_model("accounts", "Agent").objects.create(team=team, agent_id="baker")


def _queue(apps: Any, agent: Any, **carries: Any) -> Any:
    return apps.get_model("wake", "Callback").objects.create(
        agent=agent,
        team=agent.team,
        url="https://hooks.example.com/",
        host="hooks.example.com",
        body=b"{}",
        **carries,
    )


def test_migrating_a_database_of_0_1_keeps_everything(apps_0_1: Any) -> None:
    agent = _agent(apps_0_1)
    submitted = _answered(apps_0_1, agent)
    of_a_task = _answered(apps_0_1, agent, relayed=True)
    answer = _queue(apps_0_1, agent, response=submitted)
    push = _queue(apps_0_1, agent, relayed_task=TASK)
    targets = apps_0_1.get_model("wake", "FailingTarget").objects
    for is_push in (False, True):
        targets.create(
            team=agent.team,
            host="hooks.example.com",
            is_push=is_push,
            failing_since=timezone.now(),
        )

    apps_0_1.get_model("accounts", "AuditHead").objects.create(
        chain=agent.team.pk, position=3, hash="a" * 64, sealed_at=timezone.now()
    )

    _migrate_to_today()

    assert totals.forged_tips() == []
    internal = dict(Delivery.objects.values_list("pk", "is_internal"))
    assert internal == {submitted.delivery_id: False, of_a_task.delivery_id: True}
    assert Delivery.objects.get(pk=submitted.delivery_id).details_json == '{"price":0.10}'
    assert dict(Callback.objects.values_list("pk", "kind")) == {
        answer.pk: "answer",
        push.pk: "push",
    }
    assert Callback.objects.get(pk=push.pk).about == TASK
    assert Callback.objects.get(pk=answer.pk).response_id == submitted.pk
    assert sorted(target.key.without_answers for target in FailingTarget.objects.all()) == [
        False,
        True,
    ]


def test_callbacks_queued_by_0_1_after_the_migration_are_sent(
    apps_0_1: Any,
) -> None:
    agent = _agent(apps_0_1)
    _migrate_to_today()

    answer = _queue(apps_0_1, agent, response=_answered(apps_0_1, agent))
    push = _queue(apps_0_1, agent, relayed_task=TASK)

    kinds = {row.pk: kind_of(row).name for row in Callback.objects.all()}
    assert kinds == {answer.pk: "answer", push.pk: "push"}
