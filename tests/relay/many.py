"""Fills a task or the queue of its agent with many similar rows."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any
from uuid import uuid4

from relay.content.compact_json import dumps
from relay.models import Artifact, Event, Message, Run, Task
from relay.runs import queue


def queue_runs(task: Task, count: int) -> None:
    """Queues this many further runs of a task for its agent."""
    message = task.messages.latest("pk")
    Run.objects.bulk_create(queue.new_run(task, message, at=task.created_at) for _ in range(count))


def tasks_like(task: Task, count: int) -> list[Task]:
    """Creates copies without messages, each a second later than the one before."""
    tasks = []
    for number in range(1, count + 1):
        row = copy(task)
        row.pk = uuid4()
        row.created_at += timedelta(seconds=number)
        tasks.append(row)
    return Task.objects.bulk_create(tasks)


def add_messages(task: Task, count: int) -> None:
    """Adds this many copies of the task's first message, from its caller."""
    Message.objects.bulk_create(_copies(task.messages.earliest("pk"), count))


def add_events(task_id: Any, count: int) -> None:
    """Adds this many copies of the task's newest event, each a generation later."""
    task = Task.objects.get(pk=task_id)
    events = _copies(task.events.latest("generation"), count)
    for number, event in enumerate(events, 1):
        event.generation += number
    Event.objects.bulk_create(events)
    task.generation += count
    task.save(update_fields=["generation"])


def artifact(task: Task, name: str, text: str = "x") -> Artifact:
    """Returns an artifact that is not stored yet."""
    parts = dumps([{"text": text}])
    return Artifact(task=task, artifact_id=name, parts_json=parts, created_at=task.created_at)


def _copies(row: Any, count: int) -> list[Any]:
    copies = [copy(row) for _ in range(count)]
    for one in copies:
        one.pk = None
    return copies
