"""Defines the events of tasks, which streams and pushes send."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q

from relay.models.tasks import Artifact, Message, Task


class EventQuerySet(models.QuerySet["Event"]):
    def with_unmade_pushes(self) -> EventQuerySet:
        return self.filter(push_due_at__isnull=False)

    def with_due_pushes(self, at: datetime) -> EventQuerySet:
        """Returns events whose pushes are due now, oldest first. Index: events_with_due_pushes."""
        return self.with_unmade_pushes().filter(push_due_at__lte=at).order_by("push_due_at", "pk")


class Event(models.Model):
    """Records the events of a task, in order. Events are only added.

    An event holds no content, but points to a message, or to the piece of an artifact that came
    with the event. Erasing the message or the piece therefore empties the event, too."""

    class Kind(models.TextChoices):
        STATUS = "status", "Status"
        ARTIFACT = "artifact", "Artifact"
        MESSAGE = "message", "Message"

    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="events", db_index=False)
    generation = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=Kind)
    state = models.CharField(max_length=14, choices=Task.State)
    message = models.ForeignKey(
        Message, null=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    artifact = models.ForeignKey(
        Artifact, null=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    # The piece of the artifact: the place of its first part, and the number of its parts. A null
    # number means all parts, as in events of version 0.1.
    first_part = models.PositiveIntegerField(default=0, db_default=0)
    part_count = models.PositiveIntegerField(null=True)
    is_last_piece = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField()
    # When the event's pushes are due; null once they are made, or if there are none.
    push_due_at = models.DateTimeField(null=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["task", "generation"], name="one_event_a_generation")
        ]
        indexes = [
            models.Index(
                fields=["push_due_at", "id"],
                condition=Q(push_due_at__isnull=False),
                name="events_with_due_pushes",
            ),
            models.Index(
                fields=["message"], condition=Q(message__isnull=False), name="events_of_a_message"
            ),
            models.Index(
                fields=["artifact"],
                condition=Q(artifact__isnull=False),
                name="events_of_an_artifact",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.generation}: {self.kind} {self.state}"

    @property
    def is_replaced(self) -> bool:
        """Returns whether a later event replaced this event's content."""
        return self.artifact is not None and self.artifact.begins > self.generation
