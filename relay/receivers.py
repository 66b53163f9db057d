"""What an answer in the inbox, and the end of what a team keeps, mean for a task; inside that
transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from relay import lifecycle, retention
from relay.models import Surfaced
from wake import signals
from wake.models import Response


@receiver(signals.released, dispatch_uid="relay.receivers.decide")
def decide(response: Response, **_: Any) -> None:
    """From then on it cannot be taken back: the task has moved."""
    delivery = response.delivery
    if not delivery.relayed:
        return
    response.sent_at = response.responded_at
    response.save(update_fields=["sent_at"])
    task_id = Surfaced.objects.values_list("task", flat=True).get(pk=delivery.pk)
    lifecycle.decide(task_id, delivery=delivery, response=response)


@receiver(signals.erased, dispatch_uid="relay.receivers.forget_task")
def forget_task(delivery_ids: Collection[UUID], **_: Any) -> None:
    retention.erase_tasks_of(delivery_ids)
