"""Reacts to signals inside their transactions. Changes a task when its question is answered in the
inbox, erases a task together with its last delivery, and replaces the name of a removed person."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from database.notifications import notify
from relay.cards.topics import ACCESS_TOPIC
from relay.models import CallerKey, Message, TaskDelivery
from relay.tasks import lifecycle, retention
from wake import signals
from wake.models import Response


@receiver(signals.released, dispatch_uid="relay.receivers.decide")
def decide(response: Response, **_: Any) -> None:
    """Continues the task of a released answer. The answer cannot be taken back any more."""
    delivery = response.delivery
    if not delivery.is_internal:
        return
    response.sent_at = response.responded_at
    response.save(update_fields=["sent_at"])
    task_id = TaskDelivery.objects.values_list("task", flat=True).get(pk=delivery.pk)
    lifecycle.decide(task_id, delivery=delivery, response=response)


@receiver(signals.team_closed, dispatch_uid="relay.receivers.check_access")
def check_access(**_: Any) -> None:
    """Makes open streams check again whether their callers may go on."""
    notify(ACCESS_TOPIC)


@receiver(signals.erased, dispatch_uid="relay.receivers.forget_task")
def forget_task(delivery_ids: Collection[UUID], **_: Any) -> None:
    retention.erase_tasks_of(delivery_ids)


@receiver(signals.person_removed, dispatch_uid="relay.receivers.replace_name")
def replace_name(names: Collection[str], by: str, **_: Any) -> None:
    """Replaces the name in messages and keys, because these rows store only a name."""
    from_people = Message.objects.filter(source=Message.Source.OWNER, by_name__in=names)
    from_people.update(by_name=by)
    CallerKey.objects.filter(issued_by__in=names).update(issued_by=by)
