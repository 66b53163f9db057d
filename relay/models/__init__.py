"""Defines the relay's tables: cards and caller keys, tasks and their content, references between
tasks, pushes, connectors and runs."""

from relay.models.cards import CallerKey, Card
from relay.models.events import Event, EventQuerySet
from relay.models.pushes import PushConfig, PushNotification
from relay.models.references import TaskReference
from relay.models.runs import ONLINE_TIMEOUT, RESULT_TIMEOUT, Connector, Run, RunQuerySet
from relay.models.tasks import (
    Artifact,
    Blob,
    Context,
    Message,
    Task,
    TaskDelivery,
    TaskQuerySet,
)

__all__ = [
    "ONLINE_TIMEOUT",
    "RESULT_TIMEOUT",
    "Artifact",
    "Blob",
    "CallerKey",
    "Card",
    "Connector",
    "Context",
    "Event",
    "EventQuerySet",
    "Message",
    "PushConfig",
    "PushNotification",
    "Run",
    "RunQuerySet",
    "Task",
    "TaskDelivery",
    "TaskQuerySet",
    "TaskReference",
]
