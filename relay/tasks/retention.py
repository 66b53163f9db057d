"""Erases the content of tasks that ended longer ago than their team keeps content. The record of
events stays (docs/decisions/0011-erased-is-gone.md).

The rule of all deliveries (wake/retention.py) erases deliveries of a task. The task is erased with
its last delivery, so that people never open a delivery whose files are gone.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.audit import SYSTEM, record
from accounts.models import Team
from database import sweeps
from relay.models import Artifact, Blob, Event, Message, Run, Task, TaskDelivery, TaskQuerySet
from relay.tasks import pushes
from wake.models import Callback, Delivery, Retention
from wake.retention import effective_days

TASKS_AT_ONCE = 200


def erase_old(*, at: datetime) -> int:
    """Erases a batch of each team's tasks; returns how many. Only two kinds of tasks are left for
    this sweep: tasks that had no delivery, and tasks whose pushes were still being sent when their
    last delivery was erased."""
    kept = sweeps.to_work_on(Retention.objects.order_by("team"))
    teams = kept.values_list("team_id", "days")
    return sweeps.each(teams, partial(_erase_of_a_team, at=at), what="teams' old tasks")


def erase_tasks_of(delivery_ids: Collection[UUID]) -> int:
    """Erases the tasks of these deliveries of one team, if they ended long enough ago and have no
    other delivery left. Runs inside the transaction that erased the deliveries."""
    delivery = Delivery.objects.filter(pk__in=delivery_ids).only("team", "erased_at").first()
    retention = Retention.objects.filter(team=delivery.team_id).first() if delivery else None
    if not (delivery and delivery.erased_at and retention):
        return 0
    at = delivery.erased_at
    old = _ended(delivery.team_id, days=retention.days, at=at)
    return _erase(old.filter(task_deliveries__delivery__in=delivery_ids), at=at)


@transaction.atomic
def _erase_of_a_team(team_and_days: tuple[int, int], *, at: datetime) -> int:
    team_id, days = team_and_days
    count = _erase(_ended(team_id, days=days, at=at), at=at)
    if count:
        team = Team.objects.get(pk=team_id)
        record("retention.erased_tasks", by=SYSTEM, of=team, team=team, at=at, count=count)
    return count


def _ended(team_id: int, *, days: int, at: datetime) -> TaskQuerySet:
    before = at - timedelta(days=effective_days(days))
    return Task.objects.filter(agent__team=team_id, terminal_at__lte=before)


def _erase(tasks: TaskQuerySet, *, at: datetime) -> int:
    """Erases these tasks, except those whose content a person or a caller still waits for. A push
    to a suspended target does not count, because otherwise a task would be kept forever if an
    address of its pushes never answers."""
    deliveries = TaskDelivery.objects.filter(task=OuterRef("pk"), delivery__erased_at__isnull=True)
    unsent = Callback.objects.unfinished().filter(push__task=OuterRef("pk"))
    unmade = Event.objects.with_unmade_pushes().filter(task=OuterRef("pk"))
    is_waited_for = Exists(deliveries) | Exists(unsent) | Exists(unmade)
    rows = Task.objects.filter(~is_waited_for, pk__in=tasks.values("pk"))
    rows = rows.filter(erased_at__isnull=True).order_by("terminal_at")
    locked = rows.select_for_update(skip_locked=True, of=("self",), no_key=True).values_list(
        "pk", flat=True
    )
    ids = list(locked[:TASKS_AT_ONCE])
    if ids:
        Message.objects.filter(task__in=ids).update(
            parts_json="[]",
            metadata_json="",
            request_metadata_json="",
            extensions=[],
            reference_task_ids=[],
            idempotency_key=None,
            idempotency_hash="",
        )
        Artifact.objects.filter(task__in=ids).update(
            name="", description="", parts_json="[]", metadata_json=""
        )
        Blob.objects.filter(task__in=ids).delete()
        Run.objects.filter(task__in=ids).update(decision_json="")
        pushes.erase(ids, at=at)
        Task.objects.filter(pk__in=ids).update(
            erased_at=at,
            stored_bytes=0,
            idempotency_key=None,
            idempotency_hash="",
            traceparent=None,
            network="",
        )
    return len(ids)
