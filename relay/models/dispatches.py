"""The runs of an agent's command: queued here, leased by a connector on somebody's machine."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models import Agent, ApiKey
from relay.models.tasks import Message, Task
from wake.models.content import ContentTextField


class Connector(models.Model):
    """One `wake connect` of an agent; online as long as it has been heard of lately."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="connectors")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    instance_id = models.CharField(max_length=64)
    machine = models.CharField(max_length=80, blank=True)
    transport = models.CharField(max_length=9)  # websocket or poll
    capacity = models.PositiveSmallIntegerField(default=1)
    address = models.CharField(max_length=45, blank=True)
    connected_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "instance_id"], name="one_connector_a_process")
        ]

    def __str__(self) -> str:
        return self.machine or self.instance_id


class DispatchQuerySet(models.QuerySet["Dispatch"]):
    def queued(self, agent: Agent) -> DispatchQuerySet:
        """Oldest first. Index: dispatches_to_lease."""
        return self.filter(agent=agent, state=Dispatch.State.QUEUED).order_by("created_at", "pk")

    def lapsed(self, at: datetime) -> DispatchQuerySet:
        """Leased by a connector that was not heard of again. Index: dispatches_on_lease."""
        return self.filter(
            state__in=[Dispatch.State.LEASED, Dispatch.State.ACKED], leased_until__lte=at
        )


class Dispatch(models.Model):
    """One run of the agent's command for one task: the row is the queue. Leased, it belongs to one
    connector until `leased_until`; whoever reports without the lease of now is not heard."""

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting for a machine"
        LEASED = "leased", "On its way"
        ACKED = "acked", "Running"
        DONE = "done", "Done"
        EXPIRED = "expired", "Given up"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="dispatches")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="dispatches")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    # A person's answer, which no caller can forge: {"status", "feedback", "edited_content", "by",
    # "delivery_id", "generation"}; empty where none was given.
    decision_json: models.TextField[str, str] = ContentTextField(blank=True)
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    connector = models.ForeignKey(
        Connector, null=True, on_delete=models.SET_NULL, related_name="dispatches"
    )
    # The connector is told to stop it: the task was canceled or ended otherwise.
    cancel_asked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = DispatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "dispatches"
        indexes = [
            models.Index(
                fields=["agent", "created_at"],
                condition=Q(state="queued"),
                name="dispatches_to_lease",
            ),
            models.Index(
                fields=["leased_until"],
                condition=Q(state__in=["leased", "acked"]),
                name="dispatches_on_lease",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} ({self.state})"

    @property
    def decision(self) -> dict[str, Any] | None:
        return json.loads(self.decision_json) if self.decision_json else None
