"""The runs of an agent's command: queued here, leased by a connector on somebody's machine."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import ExpressionWrapper, F, Q, Value
from django.db.models.functions import Cast

from accounts.models import Agent, ApiKey
from relay.models.tasks import Message, Task
from wake.models.content import ContentTextField

TELL_AGAIN_AFTER = timedelta(seconds=15)
SEEN_WITHIN = timedelta(seconds=45)  # three heartbeats
# A result is a single frame, and nothing else is heard before its end: ten megabytes over half a
# megabit a second take as long.
SENDS_WITHIN = timedelta(minutes=3)
# Before the end of a lease: three of its four heartbeats did not come.
ENDS_WITHIN = timedelta(seconds=15)
OVERTIME = timedelta(minutes=5)


class ConnectorQuerySet(models.QuerySet["Connector"]):
    def online(self, at: datetime) -> ConnectorQuerySet:
        """Heard of lately. One that drains is gone when it has done what it had: over polls nothing
        else says so."""
        runs = Dispatch.objects.filter(connector=models.OuterRef("pk")).on_lease()
        stays = Q(draining_at__isnull=True) | models.Exists(runs)
        return self.filter(stays, left_at__isnull=True, seen_at__gt=at - SEEN_WITHIN)


class Connector(models.Model):
    """One `wake connect` of an agent; online as long as it has been heard of lately."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="connectors")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    instance_id = models.CharField(max_length=64)
    # Its connection of now: an earlier one, whose end is noticed late, says nothing of this one.
    connection_id = models.UUIDField(default=uuid.uuid4)
    machine = models.CharField(max_length=80, blank=True)
    transport = models.CharField(max_length=9)  # websocket or poll
    capacity = models.PositiveSmallIntegerField(default=1)
    address = models.CharField(max_length=45, blank=True)
    connected_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    # It is gone, or another one took its place.
    left_at = models.DateTimeField(null=True)
    # It takes nothing more, and goes when it has done what it has.
    draining_at = models.DateTimeField(null=True)

    objects = ConnectorQuerySet.as_manager()

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

    def running(self, agent: Agent) -> DispatchQuerySet:
        return self.filter(agent=agent).on_lease()

    def on_lease(self) -> DispatchQuerySet:
        return self.filter(state__in=[Dispatch.State.LEASED, Dispatch.State.ACKED])

    def begun_by(self, connector: Connector) -> DispatchQuerySet:
        return self.filter(connector=connector, state=Dispatch.State.ACKED)

    def ending(self, at: datetime) -> DispatchQuerySet:
        """Whose lease is about to be over."""
        return self.filter(leased_until__lte=at + ENDS_WITHIN)

    def to_stop(self, at: datetime) -> DispatchQuerySet:
        """Which a connector runs and has not been told of, or so long ago that it may not have
        heard it."""
        unheard = Q(cancel_told_at__isnull=True) | Q(cancel_told_at__lte=at - TELL_AGAIN_AFTER)
        return self.on_lease().filter(unheard, cancel_asked_at__isnull=False)

    def lapsed(self, at: datetime) -> DispatchQuerySet:
        """Leased by a connector that was not heard of again, or for longer than a run of its agent
        may take and its machine has to stop it and say so. Index: dispatches_on_lease."""
        seconds = Cast("agent__card__timeout_seconds", models.IntegerField())
        allowed = ExpressionWrapper(seconds * Value(timedelta(seconds=1)), models.DurationField())
        ends = ExpressionWrapper(F("started_at") + allowed, models.DateTimeField())
        overdue = Q(ends__lte=at - OVERTIME)
        return self.on_lease().alias(ends=ends).filter(Q(leased_until__lte=at) | overdue)

    def given_up(self, at: datetime) -> DispatchQuerySet:
        """For which no machine came by then. Index: dispatches_to_lease."""
        return self.filter(state=Dispatch.State.QUEUED, created_at__lte=at)


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
    cancel_told_at = models.DateTimeField(null=True)
    # The number of the last progress that was written down: a repeated one is passed over.
    progress = models.PositiveIntegerField(default=0)
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
