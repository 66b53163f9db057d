"""Creates push configs, and changes their tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone

from relay.models import Artifact, Message, PushNotification, Task
from relay.protocol.dialects import PushIn
from relay.tasks import transitions
from tests.relay.calling import queue_pushes

URL = "https://hooks.example.com/a2a?for=saffron"
State = Task.State
Sent = Callable[..., Task]


def push(config_id: str = "mine", *, url: str = URL, **more: Any) -> PushIn:
    return PushIn(config_id=config_id, url=url, **more)


def move(task: Task, to: Task.State, text: str = "") -> Task:
    at = timezone.now()
    locked = transitions.lock(task.pk)
    message = (
        transitions.add_message(locked, Message.Source.AGENT, [{"text": text}], at=at)
        if text
        else None
    )
    return transitions.transition(task.pk, to, message=message, at=at)


def make_artifact(
    task: Task, artifact_id: str = "report", *, text: str = "## All checks passed"
) -> None:
    at = timezone.now()
    task = transitions.lock(task.pk)
    parts = json.dumps([{"text": text}])
    artifact = Artifact.objects.create(
        task=task, artifact_id=artifact_id, name="report.md", parts_json=parts, created_at=at
    )
    piece = transitions.Piece(artifact, 0, 1, is_last=True)
    transitions.emit_artifacts(task, [piece], at=at)


def bodies() -> list[Any]:
    """Queues what is due, and returns all queued pushes, oldest first."""
    queue_pushes()
    rows = PushNotification.objects.order_by("generation", "pk").select_related("callback")
    return [json.loads(bytes(row.callback.body)) for row in rows]


@transaction.atomic
def complete(task: Task) -> None:
    move(task, State.WORKING)
    make_artifact(task)
    move(task, State.COMPLETED, "Done.")
