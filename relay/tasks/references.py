"""Links a task with the earlier tasks that its messages refer to."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from database.uuids import uuid_or_none
from relay.models import Task, TaskReference


def uuids_in(reference_task_ids: Iterable[str]) -> set[UUID]:
    """Returns the ids that may be tasks of this server: others make up ids of their own."""
    return {uuid for text in reference_task_ids if (uuid := uuid_or_none(text))}


def link(task: Task, reference_task_ids: Iterable[str]) -> None:
    """Stores which tasks of this server these ids name. Whose tasks they are does not matter: an
    agent names the task that it works on, whose caller is another. Pages show a link to those who
    may see both tasks."""
    uuids = uuids_in(reference_task_ids) - {task.pk}
    if not uuids:
        return
    earlier = Task.objects.filter(pk__in=uuids).values_list("pk", flat=True)
    TaskReference.objects.bulk_create(
        [TaskReference(task=task, earlier_id=pk) for pk in earlier], ignore_conflicts=True
    )
