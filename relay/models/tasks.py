"""Defines tasks, their contexts, messages and artifacts.

Parts are JSON in the form of A2A 1.0, even if they came in another dialect
(relay/protocol/parts.py). Each part has exactly one of `text`, `raw` (base64), `url` and `data`,
and may have `mediaType`, `filename` and `metadata`.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Value

from accounts.models import Agent, User
from database.encrypted_columns import ContentTextField
from relay.models.cards import CallerKey, Card
from wake.models import Delivery, StoredFile


class ContextQuerySet(models.QuerySet["Context"]):
    def for_person(self, user: User) -> ContextQuerySet:
        return self.filter(agent__team__memberships__user=user)


class Context(models.Model):
    """Groups the tasks of a conversation. The caller may make up its id, so the same id of another
    caller is another context."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    context_id = models.CharField(max_length=128)
    agent = models.ForeignKey(
        Agent, on_delete=models.PROTECT, related_name="contexts", db_index=False
    )
    caller = models.ForeignKey(
        CallerKey, null=True, on_delete=models.PROTECT, related_name="contexts", db_index=False
    )
    created_at = models.DateTimeField()

    objects = ContextQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "caller", "context_id"], name="one_context_a_caller"
            ),
            models.UniqueConstraint(
                fields=["agent", "context_id"],
                condition=Q(caller__isnull=True),
                name="one_context_of_nobody",
            ),
        ]

    def __str__(self) -> str:
        return self.context_id


class TaskQuerySet(models.QuerySet["Task"]):
    def for_person(self, user: User) -> TaskQuerySet:
        """Returns the tasks of all agents of this person's teams."""
        return self.filter(agent__team__memberships__user=user)

    def of_caller(self, agent: Agent, caller: CallerKey | None) -> TaskQuerySet:
        """Returns a caller's tasks. Index: tasks_of_a_caller. All anonymous callers count as one
        caller. Only ids that cannot be guessed separate their tasks."""
        rows = self.filter(agent=agent)
        return rows.filter(caller=caller) if caller else rows.filter(caller__isnull=True)

    def admitted(self, at: datetime) -> TaskQuerySet:
        """Returns tasks whose agent is published and still accepts their caller
        (Card.accepts)."""
        access = Card.Access
        of_team = Q(caller__team=F("agent__team"))
        is_named = Card.callers.through.objects.filter(
            card=OuterRef("agent"), callerkey=OuterRef("caller")
        )
        return self.filter(
            Q(agent__card__access=access.PUBLIC)
            | Q(of_team, agent__card__access=access.KEY)
            | Q(of_team, Exists(is_named), agent__card__access=access.ALLOWLIST),
            Q(caller__isnull=True) | Q(caller__in=CallerKey.objects.usable(at)),
            agent__card__enabled=True,
            agent__archived_at__isnull=True,
        )

    def that_refer_to(self, task: Task) -> TaskQuerySet:
        """Returns tasks that refer to this one, newest first. Index: tasks_that_refer_to_a_task."""
        return self.filter(references__earlier=task).order_by("-references__pk")

    def referred_to_by(self, task: Task) -> TaskQuerySet:
        """Returns the earlier tasks that this one refers to. Index: one_reference_to_a_task."""
        return self.filter(referred_by__task=task).order_by("-referred_by__pk")

    def open(self) -> TaskQuerySet:
        return self.filter(terminal_at__isnull=True)


class Task(models.Model):
    """Stores one piece of work that a caller asked of an agent. Only relay/tasks/transitions.py
    changes its state."""

    class State(models.TextChoices):
        """Lists the states as people and connectors see them. relay/protocol/dialects.py has their
        names on the wire."""

        SUBMITTED = "submitted", "Waiting for the agent"
        WORKING = "working", "Working"
        INPUT_REQUIRED = "input_required", "Waiting for an answer"
        AUTH_REQUIRED = "auth_required", "Waiting for the caller to sign in"
        COMPLETED = "completed", "Completed"
        FAILED = "failed", "Failed"
        CANCELED = "canceled", "Canceled"
        REJECTED = "rejected", "Rejected"

    TERMINAL = frozenset({State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED})
    INTERRUPTED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="tasks", db_index=False)
    context = models.ForeignKey(Context, on_delete=models.PROTECT, related_name="tasks")
    caller = models.ForeignKey(
        CallerKey, null=True, on_delete=models.PROTECT, related_name="tasks", db_index=False
    )
    state = models.CharField(max_length=14, choices=State, default=State.SUBMITTED)
    status_message = models.ForeignKey(
        "Message", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    status_at = models.DateTimeField()
    # Counts the events of the task, so that an answer can name the state that it describes.
    generation = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    terminal_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)
    # True if the task's only run returned nothing but a message. A caller who still waits gets only
    # that message.
    is_direct = models.BooleanField(default=False)
    # For 24 hours the same key of the same caller returns the same task.
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001 - unique where it is there
    idempotency_hash = models.CharField(max_length=64, blank=True)
    # The trace of the caller's newest request that had one (wake/callbacks/traces.py).
    traceparent = models.CharField(max_length=55, null=True)  # noqa: DJ001 - takes no room if absent
    # For a chained task: the task and generation that caused it, and how far the first task is.
    source_task = models.CharField(max_length=128, blank=True)
    source_generation = models.PositiveIntegerField(default=0)
    hop = models.PositiveSmallIntegerField(default=0)
    # The size of its messages and artifacts, in bytes of JSON and of files.
    stored_bytes = models.BigIntegerField(default=0, db_default=0)
    # Tasks of anonymous callers are counted by their network.
    network = models.CharField(max_length=50, blank=True, db_default="")

    # The message of a task that this process has just created, so that the message is not read
    # back.
    only_message: Message | None = None

    objects = TaskQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=["completed", "failed", "canceled", "rejected"],
                    terminal_at__isnull=False,
                )
                | (
                    Q(terminal_at__isnull=True)
                    & ~Q(state__in=["completed", "failed", "canceled", "rejected"])
                ),
                name="terminal_states_have_their_time",
            ),
            models.UniqueConstraint(
                fields=["agent", "caller", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="one_task_an_idempotency_key",
            ),
            models.UniqueConstraint(
                fields=["agent", "caller", "source_task", "source_generation"],
                condition=~Q(source_task=""),
                name="one_task_a_link_of_a_chain",
            ),
            models.UniqueConstraint(
                fields=["agent", "source_task", "source_generation"],
                condition=~Q(source_task="") & Q(caller__isnull=True),
                name="one_task_a_link_of_nobody",
            ),
        ]
        indexes = [
            models.Index(
                F("agent"),
                F("caller"),
                F("status_at").desc(),
                F("id").desc(),
                name="tasks_of_a_caller",
            ),
            models.Index(
                fields=["agent", "created_at"],
                condition=Q(terminal_at__isnull=True),
                name="open_tasks_of_an_agent",
            ),
            models.Index(fields=["agent", "-created_at", "-id"], name="tasks_of_an_agent"),
            models.Index(
                fields=["status_message"],
                condition=Q(status_message__isnull=False),
                name="tasks_of_a_status_message",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def is_terminal(self) -> bool:
        return self.terminal_at is not None


class Message(models.Model):
    """Stores one turn of a task. The sender chooses the `message_id`, which may repeat."""

    class Source(models.TextChoices):
        CALLER = "caller", "Caller"
        AGENT = "agent", "Agent"
        OWNER = "owner", "Person"
        RELAY = "relay", "Wake"

    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(Task, null=True, on_delete=models.CASCADE, related_name="messages")
    context = models.ForeignKey(
        Context, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    message_id = models.CharField(max_length=128)
    source = models.CharField(max_length=6, choices=Source)
    by_name = models.CharField(max_length=80, blank=True)
    parts_json: models.TextField[str, str] = ContentTextField()
    metadata_json: models.TextField[str, str] = ContentTextField(blank=True)
    # The metadata of the caller's request, beside the message.
    request_metadata_json: models.TextField[str, str] = ContentTextField(
        blank=True, default="", db_default=""
    )
    # The URIs of the extensions of A2A that the message uses.
    extensions = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    reference_task_ids = models.JSONField(default=list)
    # The media types that the caller asked for with this message.
    accepted_output_modes = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    # The Idempotency-Key of a message to an existing task. If the message created a task, its key
    # belongs to the task.
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001 - as a task's
    idempotency_hash = models.CharField(max_length=64, blank=True, default="", db_default="")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.get_source_display()}: {self.message_id}"

    @property
    def role(self) -> str:
        """Returns `user` or `agent`, because the protocol knows only these two of the four
        sources."""
        is_user = self.source in {self.Source.CALLER, self.Source.OWNER}
        return "user" if is_user else "agent"

    @property
    def parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = json.loads(self.parts_json)
        return parts

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(self.metadata_json) if self.metadata_json else {}
        return metadata

    @property
    def request_metadata(self) -> dict[str, Any]:
        text = self.request_metadata_json
        metadata: dict[str, Any] = json.loads(text) if text else {}
        return metadata


class Artifact(models.Model):
    """Stores a result of a task."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="artifacts")
    artifact_id = models.CharField(max_length=128)
    name: models.TextField[str, str] = ContentTextField(blank=True)
    description: models.TextField[str, str] = ContentTextField(blank=True)
    parts_json: models.TextField[str, str] = ContentTextField()
    metadata_json: models.TextField[str, str] = ContentTextField(blank=True)
    # The generation of the task in which the present content began. Later events continue this
    # content, and earlier events were about replaced content.
    begins = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["task", "artifact_id"], name="one_artifact_an_id")
        ]

    def __str__(self) -> str:
        return self.artifact_id

    @property
    def parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = json.loads(self.parts_json)
        return parts

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(self.metadata_json) if self.metadata_json else {}
        return metadata


class Blob(StoredFile):
    """Stores the content of a `raw` part that is too large for its row. The row holds `{"blob":
    id}` in its place (relay/content/blobs.py)."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="blobs")
    filename: models.TextField[str, str] = ContentTextField(blank=True)

    def __str__(self) -> str:
        return f"{self.filename or self.sha256[:12]} ({self.size} bytes)"


class TaskDelivery(models.Model):
    """Links a task with a delivery that shows one generation of the task in the inbox."""

    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="task_delivery"
    )
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="task_deliveries")
    generation = models.PositiveIntegerField()

    class Meta:
        db_table = "relay_surfaced"  # the table's name in version 0.1

    def __str__(self) -> str:
        return f"{self.task_id} at {self.generation}"
