"""Erases what was said and made in tasks that ended longer ago than their team keeps content, and
leaves what happened (docs/decisions/0011-erased-is-gone.md)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from accounts.audit import SYSTEM, record
from accounts.models import Team
from relay import pushes
from relay.models import Artifact, Blob, Dispatch, Message, Task, TaskQuerySet
from wake.models import Retention

TASKS_AT_ONCE = 200


def erase_old(*, at: datetime) -> int:
    """A batch of each team's; returns how many tasks it was. Also those of which nobody was ever
    shown anything."""
    erased = 0
    for team_id, days in Retention.objects.order_by("team").values_list("team_id", "days"):
        old = Task.objects.filter(agent__team=team_id, terminal_at__lte=at - timedelta(days=days))
        with transaction.atomic():
            count = _erase(old, at=at)
            if count:
                team = Team.objects.get(pk=team_id)
                record("retention.erased_tasks", by=SYSTEM, of=team, team=team, at=at, count=count)
        erased += count
    return erased


def erase_tasks_of(delivery_ids: Collection[UUID]) -> int:
    """The tasks that these deliveries showed, where they have ended: with the one the other goes,
    too. Inside the transaction that erased the deliveries."""
    tasks = Task.objects.filter(surfaced__delivery__in=delivery_ids)
    return _erase(tasks.filter(terminal_at__isnull=False), at=timezone.now())


def _erase(tasks: TaskQuerySet, *, at: datetime) -> int:
    skip = connection.features.has_select_for_update_skip_locked
    rows = tasks.filter(pk__in=tasks.values("pk"), erased_at__isnull=True).order_by("terminal_at")
    locked = rows.select_for_update(skip_locked=skip, of=("self",)).values_list("pk", flat=True)
    ids = list(locked[:TASKS_AT_ONCE])
    if ids:
        Message.objects.filter(task__in=ids).update(parts_json="[]", metadata_json="")
        Artifact.objects.filter(task__in=ids).update(
            name="", description="", parts_json="[]", metadata_json=""
        )
        Blob.objects.filter(task__in=ids).delete()
        Dispatch.objects.filter(task__in=ids).update(decision_json="")
        pushes.erase(ids, at=at)
        Task.objects.filter(pk__in=ids).update(
            erased_at=at, idempotency_key=None, idempotency_hash="", network=""
        )
    return len(ids)
