"""Defines the runs of an agent's command, which are queued here and leased by connectors."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import ExpressionWrapper, F, Q, Value
from django.db.models.functions import Cast

from accounts.models import Agent, ApiKey
from database.encrypted_columns import ContentTextField
from relay.models.tasks import Message, Task

TELL_AGAIN_AFTER = timedelta(seconds=15)
ONLINE_TIMEOUT = timedelta(seconds=45)  # as long as three heartbeats
# A result is a single frame, and no other frame arrives before its end. Ten megabytes at half a
# megabit a second take this long.
RESULT_TIMEOUT = timedelta(minutes=3)
# This long before the end of a lease, three of its four heartbeats did not arrive.
ENDS_WITHIN = timedelta(seconds=15)
OVERTIME = timedelta(minutes=5)


class ConnectorQuerySet(models.QuerySet["Connector"]):
    def online(self, at: datetime) -> ConnectorQuerySet:
        """Returns connectors that were in contact lately. A draining connector counts as gone when
        its last run has ended, because over polls there is no other sign."""
        runs = Run.objects.filter(connector=models.OuterRef("pk")).on_lease()
        stays = Q(draining_at__isnull=True) | models.Exists(runs)
        return self.filter(stays, left_at__isnull=True, seen_at__gt=at - ONLINE_TIMEOUT)


class Connector(models.Model):
    """Records one `wake connect` process of an agent. A connector is online while its last contact
    is recent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="connectors")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    instance_id = models.CharField(max_length=64)
    # The connector's current connection. The end of an earlier connection may be noticed late, and
    # must not end this one.
    connection_id = models.UUIDField(default=uuid.uuid4)
    machine = models.CharField(max_length=80, blank=True)
    transport = models.CharField(max_length=9)  # websocket or poll
    capacity = models.PositiveSmallIntegerField(default=1)
    address = models.CharField(max_length=45, blank=True)
    connected_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    # When the connector left, or another connector replaced it.
    left_at = models.DateTimeField(null=True)
    # From then on the connector takes no more runs, and it leaves when its own runs have ended.
    draining_at = models.DateTimeField(null=True)

    objects = ConnectorQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "instance_id"], name="one_connector_a_process")
        ]

    def __str__(self) -> str:
        return self.machine or self.instance_id


class RunQuerySet(models.QuerySet["Run"]):
    def queued(self, agent: Any) -> RunQuerySet:
        """Returns runs that wait for this agent, oldest first. The agent may be a Parameter. Index:
        dispatches_to_lease."""
        return self.filter(agent=agent, state=Run.State.QUEUED).order_by("created_at", "pk")

    def ready(self, agent: Agent) -> RunQuerySet:
        """Returns runs that may be leased, oldest first. A task has only one run at a time."""
        return self.queued(agent).exclude(_is_behind_another())

    def behind_another(self) -> RunQuerySet:
        """Returns runs that wait for an earlier run of their task."""
        return self.filter(_is_behind_another(), state=Run.State.QUEUED)

    def running(self, agent: Agent) -> RunQuerySet:
        return self.filter(agent=agent).on_lease()

    def on_lease(self) -> RunQuerySet:
        return self.filter(state__in=[Run.State.LEASED, Run.State.ACKED])

    def unfinished(self) -> RunQuerySet:
        return self.filter(state__in=[Run.State.QUEUED, Run.State.LEASED, Run.State.ACKED])

    def begun_by(self, connector: Connector) -> RunQuerySet:
        return self.filter(connector=connector, state=Run.State.ACKED)

    def ending(self, at: datetime) -> RunQuerySet:
        """Returns runs whose lease is about to end."""
        return self.filter(leased_until__lte=at + ENDS_WITHIN)

    def to_stop(self, at: datetime) -> RunQuerySet:
        """Returns runs that a connector must be asked to stop. Either the connector was not asked
        yet, or it was asked so long ago that the request may be lost."""
        unheard = Q(cancel_told_at__isnull=True) | Q(cancel_told_at__lte=at - TELL_AGAIN_AFTER)
        return self.on_lease().filter(unheard, cancel_asked_at__isnull=False)

    def lapsed(self, at: datetime) -> RunQuerySet:
        """Returns runs whose connector stopped responding, and runs that exceeded the agent's time
        limit and the time to stop them. Index: dispatches_on_lease."""
        seconds = Cast("agent__card__timeout_seconds", models.IntegerField())
        allowed = ExpressionWrapper(seconds * Value(timedelta(seconds=1)), models.DurationField())
        ends = ExpressionWrapper(F("started_at") + allowed, models.DateTimeField())
        overdue = Q(ends__lte=at - OVERTIME)
        return self.on_lease().alias(ends=ends).filter(Q(leased_until__lte=at) | overdue)

    def given_up(self, at: datetime) -> RunQuerySet:
        """Returns runs that were created before `at` and that no connector has leased. Index:
        dispatches_to_lease."""
        return self.filter(state=Run.State.QUEUED, created_at__lte=at)


def _is_behind_another() -> models.Exists:
    of_the_task = Run.objects.filter(task=models.OuterRef("task"))
    is_older = Q(created_at__lt=models.OuterRef("created_at")) | Q(
        created_at=models.OuterRef("created_at"), pk__lt=models.OuterRef("pk")
    )
    is_queued_before = Q(is_older, state=Run.State.QUEUED)
    is_on_lease = Q(state__in=[Run.State.LEASED, Run.State.ACKED])
    return models.Exists(of_the_task.filter(is_queued_before | is_on_lease))


class Run(models.Model):
    """Queues and records one execution of the agent's command for one task. A leased run belongs to
    one connector until `leased_until`. Reports under an earlier lease are ignored."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        LEASED = "leased", "Sent to connector"
        ACKED = "acked", "Running"
        DONE = "done", "Completed"
        EXPIRED = "expired", "Failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="runs", db_index=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="runs")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+", db_index=False)
    # A person's answer, which no caller can forge: {"status", "feedback", "edited_content", "by",
    # "delivery_id", "generation"}; empty if there was no answer.
    decision_json: models.TextField[str, str] = ContentTextField(blank=True)
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    connector = models.ForeignKey(
        Connector, null=True, on_delete=models.SET_NULL, related_name="runs", db_index=False
    )
    # When the connector was asked to stop the run, because the task was canceled or ended
    # otherwise.
    cancel_asked_at = models.DateTimeField(null=True)
    cancel_told_at = models.DateTimeField(null=True)
    # The number of the last progress that was stored. A repeated one is ignored.
    progress = models.PositiveIntegerField(default=0)
    # The number of the first refused piece of an artifact. The result contains this piece and all
    # later pieces again.
    refused_from = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        db_table = "relay_dispatch"  # the table's name in version 0.1
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
            models.Index(
                fields=["connector"],
                condition=Q(connector__isnull=False),
                name="runs_of_a_connector",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} ({self.state})"

    @property
    def stored_up_to(self) -> int:
        """Returns the number up to which the reported pieces of artifacts are stored."""
        if self.refused_from is None:
            return self.progress
        return min(self.progress, self.refused_from - 1)

    @property
    def decision(self) -> dict[str, Any] | None:
        return json.loads(self.decision_json) if self.decision_json else None
