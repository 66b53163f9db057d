"""Moves tasks from state to state, and writes down what happened to them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from accounts.audit import Actor, agent_actor, record
from accounts.models import Agent
from relay import blobs, dispatches, items, pushes
from relay.compact import dumps
from relay.models import Artifact, Event, Message, Task
from relay.wire import Json

State = Task.State
_ENDS = {State.CANCELED, State.FAILED, State.REJECTED}
_REPORTS = {*_ENDS, State.COMPLETED, State.INPUT_REQUIRED, State.AUTH_REQUIRED}
# From a terminal state there is no way: a follow-up is a new task (1.0, 3.1.1).
LEGAL: dict[State, set[State]] = {
    # A result may overtake the news that its run has begun.
    State.SUBMITTED: {State.WORKING, *_REPORTS},
    # Back to the queue where the machine that ran it was not heard of again.
    State.WORKING: {State.WORKING, State.SUBMITTED, *_REPORTS},
    # Once more where what a person answered is not what is there now.
    State.INPUT_REQUIRED: {State.INPUT_REQUIRED, State.SUBMITTED, *_ENDS},
    State.AUTH_REQUIRED: {State.SUBMITTED, *_ENDS},
}


class TaskNotFound(Exception):
    """There is no such task for this caller."""


class TaskIsTerminal(Exception):
    """This task has ended and cannot go on."""


class IllegalMove(Exception):
    """The task is not where this move begins."""


def lock_agent(agent: Agent) -> None:
    """First of all locks, before the task's: who releases an answer holds it already, and comes
    for the task next (wake/responses.py)."""
    Agent.objects.select_for_update(no_key=True).values_list("pk").get(pk=agent.pk)


def lock(task_id: uuid.UUID) -> Task:
    """The task as it is now, for the rest of the transaction; raises TaskNotFound."""
    found = Task.objects.select_related("agent").filter(pk=task_id).first()
    if found is None:
        raise TaskNotFound(TaskNotFound.__doc__)
    lock_agent(found.agent)
    rows = Task.objects.select_for_update(of=("self",))
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
    """The one way into another state; `message` says why, `by` is the agent unless it is given.
    Raises TaskNotFound, TaskIsTerminal, and IllegalMove where the table has no such move. Whoever
    decided upon what a generation shows compares it under the lock (lifecycle.decide)."""
    task = lock(task_id)
    if task.is_terminal:
        raise TaskIsTerminal(TaskIsTerminal.__doc__)
    if to not in LEGAL[State(task.state)]:
        raise IllegalMove(IllegalMove.__doc__)
    task.state, task.status_message, task.status_at = to, message, at
    if to in Task.TERMINAL:
        task.terminal_at = at
        dispatches.stop_all(task, at=at)
        by = by or agent_actor(task.agent)
        record(f"task.{to}", by=by, of=task, team=task.agent.team_id, at=at)
    task.save(update_fields=["state", "status_message", "status_at", "terminal_at"])
    note(task, Event.Kind.STATUS, message=message, at=at)
    return task


def note(
    task: Task,
    kind: Event.Kind,
    *,
    at: datetime,
    message: Message | None = None,
    artifact: Artifact | None = None,
) -> Event:
    """One more generation of a task that this transaction has locked or made, for everybody who
    wants to hear of it."""
    task.generation += 1
    task.save(update_fields=["generation"])
    event = Event.objects.create(
        task=task,
        generation=task.generation,
        kind=kind,
        state=task.state,
        message=message,
        artifact=artifact,
        at=at,
    )
    pushes.queue(task, event)
    items.surface(task, event)
    return event


def say(
    task: Task,
    source: Message.Source,
    parts: list[Json],
    *,
    at: datetime,
    message_id: str = "",
    by_name: str = "",
    metadata: Json | None = None,
    reference_task_ids: Iterable[str] = (),
) -> Message:
    """A turn of the conversation; without an id of its maker it gets one here. Large files in it
    are kept apart."""
    return Message.objects.create(
        task=task,
        context=task.context,
        message_id=message_id or str(uuid.uuid4()),
        source=source,
        by_name=by_name[:80],
        parts_json=dumps(blobs.store_large(task, parts, at)),
        metadata_json=dumps(metadata) if metadata else "",
        reference_task_ids=list(reference_task_ids),
        created_at=at,
    )
