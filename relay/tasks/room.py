"""Limits how much is stored of a task and of its context."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Sum

from relay.models import Context, Task


class TaskIsFull(Exception):
    """This task holds as much as one may: go on in a new one."""


class ContextIsFull(Exception):
    """The tasks of this context hold as much as they may: begin a new one."""


def check_task(task: Task) -> None:
    """Raises TaskIsFull if the task holds more than its limit."""
    limit = settings.WAKE_MAX_TASK_BYTES
    if Task.objects.filter(pk=task.pk, stored_bytes__gt=limit).exists():
        raise TaskIsFull(f"This task holds {limit:,} bytes, which is the most: go on in a new one.")


def check_context(context: Context) -> None:
    """Raises ContextIsFull if the tasks of the context together hold more than its limit."""
    limit = settings.WAKE_MAX_CONTEXT_BYTES
    if (context.tasks.aggregate(all=Sum("stored_bytes"))["all"] or 0) > limit:
        raise ContextIsFull(
            f"The tasks of this context hold {limit:,} bytes, which is the most: begin a new one."
        )
