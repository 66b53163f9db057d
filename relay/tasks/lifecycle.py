"""Acts on existing tasks for callers and people: cancel, answer, wait."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.conf import settings
from django.db import transaction

from accounts.audit import SYSTEM, Actor, person, record
from database.clock import database_now
from relay.models import Message, Task, TaskDelivery
from relay.protocol.dialects import Json
from relay.runs import presence
from relay.runs import queue as run_queue
from relay.tasks import transitions
from relay.tasks.transitions import IllegalTransition, TaskIsTerminal, TaskNotFound, transition
from wake.api.long_poll import long_poll
from wake.models import Delivery, Response

__all__ = ["IllegalTransition", "TaskIsTerminal", "TaskNotFound", "transition"]

State = Task.State
# The person's text is for the agent and the team. The caller learns only the state of the task.
DECLINED = "A person of the agent's team declined."
# Half of the places of long polls (wake/api/long_poll.py). Many anonymous callers must leave room
# for agents that wait for answers, and for connectors that poll for runs.
_places = threading.BoundedSemaphore((settings.WAKE_MAX_WAITING + 1) // 2)


@dataclass(frozen=True, slots=True)
class Reply:
    """Holds the answer to a send: a task, or the message of a run that needed no task."""

    task: Task | None = None
    message: Message | None = None


@transaction.atomic
def cancel(task: Task, *, by: Actor, at: datetime) -> Task:
    """Cancels a task immediately, and asks its connector to stop the run; raises TaskIsTerminal."""
    return transition(task.pk, State.CANCELED, by=by, at=at)


@transaction.atomic
def decide(task_id: uuid.UUID, *, delivery: Delivery, response: Response) -> None:
    """Continues the task of a released answer. The agent runs again with the decision, or the task
    is rejected. An answer to an outdated question changes nothing; if the task still waits, it asks
    again."""
    task = transitions.lock(task_id)
    task_delivery = TaskDelivery.objects.get(delivery=delivery, task=task)
    at = cast(datetime, response.responded_at)
    if delivery.type != Delivery.Type.QUESTION:
        return
    by = person(response.by) if response.by else Actor("person", name=response.by_name)
    waits = task.state == State.INPUT_REQUIRED
    if not waits or task_delivery.generation != task.generation:
        record(
            "task.answer_passed_over",
            by=by,
            of=task,
            team=task.agent.team_id,
            at=at,
            status=response.status,
        )
        if waits:
            transition(task.pk, State.INPUT_REQUIRED, message=task.status_message, by=SYSTEM, at=at)
        return
    name = response.by_name
    message = transitions.add_message(
        task, Message.Source.OWNER, _answer_parts(response), by_name=name, at=at
    )
    if response.status == Response.Status.REJECTED:
        why = transitions.add_message(task, Message.Source.RELAY, [_text(DECLINED)], at=at)
        transition(task.pk, State.REJECTED, message=why, by=by, at=at)
        return
    decision = {
        "status": response.status,
        "feedback": response.feedback,
        "edited_content": response.edited_content,
        "by": name,
        "delivery_id": str(delivery.pk),
        "digest": delivery.content_hash,
        "nonce": delivery.nonce,
        "generation": task_delivery.generation,
    }
    run_queue.enqueue(task, message, decision=decision, at=at)
    transition(task.pk, State.SUBMITTED, by=by, at=at)


def wait_for(task: Task, *, seconds: float) -> Task:
    """Returns the task once it has ended or waits for input, or in its present state after
    `seconds`. Returns the task immediately, unchanged, if no connector of its agent takes runs, or
    if too many callers wait already."""

    def look() -> Task:
        return Task.objects.select_related("agent", "context", "status_message").get(pk=task.pk)

    def is_settled(task: Task) -> bool:
        return task.is_terminal or task.state in Task.INTERRUPTED

    if not seconds or is_settled(task):
        return task
    if not presence.takes_runs(task.agent, at=database_now()):
        return task
    if not _places.acquire(blocking=False):
        return task
    try:
        return long_poll(
            look, seconds=seconds, until=is_settled, topic=transitions.topic_of(task.pk)
        )
    finally:
        _places.release()


def reply_with(task: Task) -> Reply:
    """Returns the reply to the first message of a task after a wait."""
    if task.is_direct and task.is_terminal and task.status_message:
        return Reply(message=task.status_message)
    return Reply(task=task)


def _answer_parts(response: Response) -> list[Json]:
    """Returns a person's answer as the parts of a message."""
    edited = response.edited_content
    parts = [_text(response.feedback)] if response.feedback else []
    if edited is not None:
        parts.append(_text(edited) if isinstance(edited, str) else {"data": edited})
    return parts or [_text(f"{response.get_status_display()}.")]


def _text(text: str) -> Json:
    return {"text": text}
