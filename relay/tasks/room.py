"""Limits the stored size of a task and of its context."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Sum

from relay.models import Context, Run, Task

MAX_MESSAGES = 1_000  # messages of one task, from all senders together


class TaskIsFull(Exception):
    """This task holds as much as a task may hold: continue in a new task."""


class ContextIsFull(Exception):
    """The tasks of this context hold as much as a context may hold: begin a new context."""


def check_messages(task: Task) -> None:
    """Raises TaskIsFull if the task has no room for a further message. Each of its unfinished runs
    already has room for its result."""
    awaited = Run.objects.filter(task=task).unfinished().count()
    if task.messages.count() + awaited >= MAX_MESSAGES:
        raise TaskIsFull(
            "This task has reached its limit of messages. "
            "Continue in a new task of the same context."
        )


def check_task(task: Task) -> None:
    """Raises TaskIsFull if the task holds more than its limit."""
    limit = settings.WAKE_MAX_TASK_BYTES
    if Task.objects.filter(pk=task.pk, stored_bytes__gt=limit).exists():
        raise TaskIsFull(f"This task holds {limit:,} bytes, which is the most: use a new task.")


def check_context(context: Context) -> None:
    """Raises ContextIsFull if the tasks of the context together hold more than its limit."""
    limit = settings.WAKE_MAX_CONTEXT_BYTES
    if (context.tasks.aggregate(all=Sum("stored_bytes"))["all"] or 0) > limit:
        raise ContextIsFull(
            f"The tasks of this context hold {limit:,} bytes, which is the most: use a new context."
        )
