"""Changes the state of tasks, and adds their messages and events."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.agents import topics
from accounts.audit import Actor, agent_actor, record
from accounts.models import Agent
from database.idempotency import Idempotency
from database.notifications import notify
from relay.content import blobs
from relay.content.compact_json import bytes_in, dumps
from relay.models import Artifact, Event, Message, Task
from relay.protocol.dialects import Json
from relay.runs import queue as run_queue
from relay.tasks import deliveries as task_deliveries
from relay.tasks import pushes

State = Task.State
AT_ONCE = 500  # rows in one statement
_ENDS = {State.CANCELED, State.FAILED, State.REJECTED}
_REPORTS = {*_ENDS, State.COMPLETED, State.INPUT_REQUIRED, State.AUTH_REQUIRED}
# No transition leaves a terminal state. A follow-up is a new task (1.0, 3.1.1).
LEGAL: dict[State, set[State]] = {
    # A result may arrive before the report that its run has begun.
    State.SUBMITTED: {State.WORKING, State.SUBMITTED, *_REPORTS},
    # A task goes back to the queue when its connector stopped responding, or when its caller wrote
    # meanwhile.
    State.WORKING: {State.WORKING, State.SUBMITTED, *_REPORTS},
    # A task asks again when a person answered an outdated question.
    State.INPUT_REQUIRED: {State.INPUT_REQUIRED, State.SUBMITTED, *_ENDS},
    State.AUTH_REQUIRED: {State.SUBMITTED, *_ENDS},
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Holds the parts of an artifact that come with one event, and their place in the artifact."""

    artifact: Artifact
    first_part: int
    part_count: int
    is_last: bool


class TaskNotFound(Exception):
    """Task not found: this caller has no task with this id."""


class TaskIsTerminal(Exception):
    """This task has ended and cannot go on."""


class IllegalTransition(Exception):
    """The state of this task has no such transition."""


def lock_agent(agent: Agent) -> None:
    """Locks the agent, always before the task. A transaction that releases an answer has locked the
    agent already, and locks the task next (wake/responses.py)."""
    Agent.objects.select_for_update(no_key=True).only("pk").get(pk=agent.pk)


def lock(task_id: uuid.UUID) -> Task:
    """Locks a task and its agent for the rest of the transaction; returns the present task. Raises
    TaskNotFound."""
    task = Task.objects.select_related("agent").filter(pk=task_id).first()
    if task is None:
        raise TaskNotFound(TaskNotFound.__doc__)
    lock_agent(task.agent)
    rows = Task.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("agent__team", "context", "status_message").get(pk=task_id)


@transaction.atomic
def transition(
    task_id: uuid.UUID,
    to: Task.State,
    *,
    at: datetime,
    message: Message | None = None,
    by: Actor | None = None,
) -> Task:
    """Changes the state of a task; no other function does. `message` gives the reason, and `by` is
    the agent unless it is given. Raises TaskNotFound, TaskIsTerminal, and IllegalTransition for a
    transition that is not in LEGAL. lifecycle.decide() compares the generation of its task under
    this lock."""
    task = lock(task_id)
    if task.is_terminal:
        raise TaskIsTerminal(TaskIsTerminal.__doc__)
    if to not in LEGAL[State(task.state)]:
        raise IllegalTransition(IllegalTransition.__doc__)
    task.state, task.status_message, task.status_at = to, message, at
    if to in Task.TERMINAL:
        task.terminal_at = at
        run_queue.stop_all(task, at=at)
        by = by or agent_actor(task.agent)
        record(f"task.{to}", by=by, of=task, team=task.agent.team_id, at=at)
    task.save(update_fields=["state", "status_message", "status_at", "terminal_at"])
    if to in Task.TERMINAL and by:
        task_deliveries.report_end(task, message, by=by, at=at)
    emit_event(task, Event.Kind.STATUS, message=message, at=at)
    notify(topics.topic_of(task.agent_id), topic_of(task.pk))
    return task


def topic_of(task_id: uuid.UUID) -> str:
    """Returns the topic of the notifications that a task has a new event."""
    return f"task:{task_id}"


def first_event(task: Task, *, at: datetime) -> Event:
    """Returns the first event of a task that this transaction creates, with generation 1. The
    caller stores the event. There are no push configs yet, and no deliveries to replace."""
    return Event(
        task=task, generation=task.generation, kind=Event.Kind.STATUS, state=task.state, at=at
    )


def emit_event(
    task: Task,
    kind: Event.Kind,
    *,
    at: datetime,
    message: Message | None = None,
) -> Event:
    """Adds an event, and so a generation, to a task that this transaction has locked or created.
    Shows the event in the inbox. Messages to the task are not pushed."""
    task.generation += 1
    task.save(update_fields=["generation"])
    event = Event.objects.create(
        task=task,
        generation=task.generation,
        kind=kind,
        state=task.state,
        message=message,
        at=at,
        push_due_at=None if kind == Event.Kind.MESSAGE else pushes.due_at(task, at=at),
    )
    task_deliveries.deliver_event(task, event)
    return event


def emit_artifacts(task: Task, pieces: Sequence[Piece], *, at: datetime) -> None:
    """Adds an event for each piece, to a task that this transaction has locked. The number of
    statements does not grow with the number of pieces."""
    push_due_at = pushes.due_at(task, at=at)
    events = [
        Event(
            task=task,
            generation=generation,
            kind=Event.Kind.ARTIFACT,
            state=task.state,
            artifact=piece.artifact,
            first_part=piece.first_part,
            part_count=piece.part_count,
            is_last_piece=piece.is_last,
            at=at,
            push_due_at=push_due_at,
        )
        for generation, piece in enumerate(pieces, task.generation + 1)
    ]
    Event.objects.bulk_create(events, batch_size=AT_ONCE)
    task.generation += len(events)
    task.save(update_fields=["generation"])
    notify(topic_of(task.pk))


def count_bytes(task: Task, size: int) -> None:
    """Counts the stored content of a task. The transaction has locked the task
    (relay/tasks/room.py)."""
    Task.objects.filter(pk=task.pk).update(stored_bytes=F("stored_bytes") + size)


def add_message(
    task: Task, source: Message.Source, parts: list[Json], *, at: datetime, **fields: Any
) -> Message:
    """Adds a message to the task; `fields` are the arguments of `new_message`."""
    message, size = new_message(task, source, parts, at=at, **fields)
    count_bytes(task, size)
    message.save(force_insert=True)
    return message


def new_message(
    task: Task,
    source: Message.Source,
    parts: list[Json],
    *,
    at: datetime,
    message_id: str = "",
    by_name: str = "",
    metadata: Json | None = None,
    request_metadata: Json | None = None,
    extensions: Iterable[str] = (),
    reference_task_ids: Iterable[str] = (),
    accepted_output_modes: Iterable[str] = (),
    idempotency: Idempotency | None = None,
) -> tuple[Message, int]:
    """Returns a message that is not stored yet, with a new id unless one is given, and its size in
    bytes. The large files of the message are stored by this call. The task itself may be stored
    later in the transaction, because foreign keys are checked when it commits."""
    stored = blobs.store_large(task, parts, at)
    parts_json, metadata_json = dumps(stored), dumps(metadata) if metadata else ""
    request_metadata_json = dumps(request_metadata) if request_metadata else ""
    message = Message(
        task=task,
        context=task.context,
        message_id=message_id or str(uuid.uuid4()),
        source=source,
        by_name=by_name[:80],
        parts_json=parts_json,
        metadata_json=metadata_json,
        request_metadata_json=request_metadata_json,
        extensions=list(extensions),
        reference_task_ids=list(reference_task_ids),
        accepted_output_modes=list(accepted_output_modes),
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        created_at=at,
    )
    size = bytes_in(parts_json, metadata_json, request_metadata_json)
    return message, size + blobs.bytes_of(stored)
