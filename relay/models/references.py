"""Defines which tasks refer to which earlier tasks."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from relay.models.tasks import Task


class TaskReferenceQuerySet(models.QuerySet["TaskReference"]):
    def of(self, task: Task) -> TaskReferenceQuerySet:
        """Returns the links of a task in both directions."""
        return self.filter(Q(task=task) | Q(earlier=task))


class TaskReference(models.Model):
    """Links a task with an earlier task that one of its messages refers to. Such references come
    from chains of agents, and from callers who follow up. The message also stores ids of tasks on
    other servers."""

    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, related_name="references", db_index=False
    )
    earlier = models.ForeignKey(
        Task, on_delete=models.CASCADE, related_name="referred_by", db_index=False
    )

    objects = TaskReferenceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "earlier"], name="one_reference_to_a_task")
        ]
        indexes = [models.Index(fields=["earlier", "-id"], name="tasks_that_refer_to_a_task")]

    def __str__(self) -> str:
        return f"{self.task_id} refers to {self.earlier_id}"
