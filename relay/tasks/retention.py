"""Erases what was said and made in tasks that ended longer ago than their team keeps content, and
leaves what happened (docs/decisions/0011-erased-is-gone.md).

What the inbox showed of a task is erased by the rule of all deliveries (wake/retention.py), and the
task with the last of it: nobody opens a question or an output and finds its files gone.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from accounts.audit import SYSTEM, record
from accounts.models import Team
from relay import pushes
from relay.models import Artifact, Blob, Dispatch, Message, Surfaced, Task, TaskQuerySet
from wake.models import Callback, Delivery, Retention

TASKS_AT_ONCE = 200


def erase_old(*, at: datetime) -> int:
    """A batch of each team's; returns how many tasks it was: those of which nobody was ever shown
    anything, and those whose news was still on its way when the last delivery went."""
    erased = 0
    for team_id, days in Retention.objects.order_by("team").values_list("team_id", "days"):
        with transaction.atomic():
            count = _erase(_ended(team_id, days=days, at=at), at=at)
            if count:
                team = Team.objects.get(pk=team_id)
                record("retention.erased_tasks", by=SYSTEM, of=team, team=team, at=at, count=count)
        erased += count
    return erased


def erase_tasks_of(delivery_ids: Collection[UUID]) -> int:
    """The tasks that these deliveries of one team showed, where they have ended as long ago: with
    the last one they go, too. Inside the transaction that erased the deliveries."""
    delivery = Delivery.objects.filter(pk__in=delivery_ids).only("team", "erased_at").first()
    kept = Retention.objects.filter(team=delivery.team_id).first() if delivery else None
    if not (delivery and delivery.erased_at and kept):
        return 0
    at = delivery.erased_at
    old = _ended(delivery.team_id, days=kept.days, at=at)
    return _erase(old.filter(surfaced__delivery__in=delivery_ids), at=at)


def _ended(team_id: int, *, days: int, at: datetime) -> TaskQuerySet:
    return Task.objects.filter(agent__team=team_id, terminal_at__lte=at - timedelta(days=days))


def _erase(tasks: TaskQuerySet, *, at: datetime) -> int:
    """Of these, which nobody waits for any more: no person and no caller. A push that rests is not
    waited for, or an address that never answers would keep its task for ever."""
    skip = connection.features.has_select_for_update_skip_locked
    shown = Surfaced.objects.filter(task=OuterRef("pk"), delivery__erased_at__isnull=True)
    unsent = Callback.objects.unfinished().filter(push__task=OuterRef("pk"))
    rows = Task.objects.filter(~Exists(shown), ~Exists(unsent), pk__in=tasks.values("pk"))
    rows = rows.filter(erased_at__isnull=True).order_by("terminal_at")
    locked = rows.select_for_update(skip_locked=skip, of=("self",)).values_list("pk", flat=True)
    ids = list(locked[:TASKS_AT_ONCE])
    if ids:
        Message.objects.filter(task__in=ids).update(
            parts_json="[]", metadata_json="", reference_task_ids=[]
        )
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
