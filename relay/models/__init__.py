"""Cards and their callers, tasks and what was said in them, and the runs on people's machines."""

from relay.models.cards import CallerKey, Card
from relay.models.dispatches import (
    SEEN_WITHIN,
    SENDS_WITHIN,
    Connector,
    Dispatch,
    DispatchQuerySet,
)
from relay.models.pushes import PushConfig, PushNotification
from relay.models.tasks import Artifact, Blob, Context, Event, Message, Surfaced, Task, TaskQuerySet

__all__ = [
    "SEEN_WITHIN",
    "SENDS_WITHIN",
    "Artifact",
    "Blob",
    "CallerKey",
    "Card",
    "Connector",
    "Context",
    "Dispatch",
    "DispatchQuerySet",
    "Event",
    "Message",
    "PushConfig",
    "PushNotification",
    "Surfaced",
    "Task",
    "TaskQuerySet",
]
