"""Deliveries keep their people when they name a shared assignment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from wake.assignment.assigned import assigned_to
from wake.models import Delivery

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

BEFORE = [("wake", "0036_rules_answer")]


@pytest.fixture
def apps_before() -> Iterator[Any]:
    MigrationExecutor(connection).migrate(BEFORE)
    yield MigrationExecutor(connection).loader.project_state(BEFORE).apps
    _migrate()


def _migrate() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_a_delivery_keeps_its_people_and_its_steps(apps_before: Any) -> None:
    at = timezone.now()
    team = apps_before.get_model("accounts", "Team").objects.create(slug="a", name="A")
    user = apps_before.get_model("accounts", "User").objects.create(
        email="bob@example.com", display_name="bob"
    )
    apps_before.get_model("accounts", "Membership").objects.create(
        team=team, user=user, role="reviewer"
    )
    agent = apps_before.get_model("accounts", "Agent").objects.create(team=team, agent_id="a")
    deliveries = [
        apps_before.get_model("wake", "Delivery").objects.create(
            team=team,
            agent=agent,
            type="question",
            headline="Publish?",
            created_at=at,
            activity_at=at + timedelta(seconds=number),
        )
        for number in range(2)
    ]
    assignment = apps_before.get_model("wake", "Assignment").objects.create(
        delivery=deliveries[0], only_they=True, steps_done=1, escalates_at=at
    )
    apps_before.get_model("wake", "AssignedPerson").objects.create(
        assignment=assignment, user=user, name="bob"
    )

    _migrate()

    assigned = assigned_to([each.pk for each in deliveries])
    assert list(assigned) == [deliveries[0].pk]
    assert assigned[deliveries[0].pk].only_they
    assert [person.name for person in assigned[deliveries[0].pk].able] == ["bob"]
    first = Delivery.objects.get(pk=deliveries[0].pk)
    assert (first.steps_done, first.escalates_at) == (1, at)
