"""Does what callers and people ask of tasks: send, cancel, answer, wait."""

from __future__ import annotations

import hashlib
import re
import threading
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.db import transaction

from accounts.audit import SYSTEM, Actor, event_of, person
from accounts.models import Agent, AuditEvent
from database.clock import database_now
from database.compiled_queries import insert, insert_each, insert_with_key
from database.idempotency import Idempotency
from database.uuids import NIL, uuid_or_none
from relay.models import CallerKey, Card, Context, Event, Message, Task, TaskDelivery
from relay.protocol.dialects import Incoming, Json, PushIn
from relay.protocol.fields import InvalidParams
from relay.runs import presence
from relay.runs import queue as run_queue
from relay.tasks import pushes, room, transitions
from relay.tasks.room import TaskIsFull
from relay.tasks.transitions import IllegalTransition, TaskIsTerminal, TaskNotFound, transition
from wake.api.long_poll import long_poll
from wake.models import Delivery, Response

__all__ = ["IllegalTransition", "TaskIsTerminal", "TaskNotFound", "transition"]

State = Task.State
BUSY_SECONDS = 60
MESSAGES_AT_MOST = 1_000  # of a task, from all senders
TOO_MANY_MESSAGES = (
    "This task has reached its limit of messages. Continue in a new task of the same context."
)
# A version 4 UUID, as they are made here: 122 random bits.
UNGUESSABLE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
# What a person wrote is for the agent and the team; the caller learns only the state of the task.
DECLINED = "A person of the agent's team declined."
CONTEXT_IS_TAKEN = (
    "Another caller uses this id. Nothing was stored: leave it out, and a new one is made for you."
)
# Half of the places of long polls (wake/api/long_poll.py): a crowd of anonymous callers must leave
# room for agents that wait for answers, and for connectors that poll for runs.
_places = threading.BoundedSemaphore((settings.WAKE_MAX_WAITING + 1) // 2)


class ContextMismatch(Exception):
    """This task belongs to another context."""


class AgentBusy(Exception):
    """Too many requests are waiting for this agent; `retry_after` is in seconds."""

    def __init__(self) -> None:
        super().__init__("Too many requests are waiting for this agent.")
        self.retry_after = BUSY_SECONDS


@dataclass(frozen=True, slots=True)
class Reply:
    """Holds the answer to a send: a task or a message. A message alone is the answer of a run that
    needed no task."""

    task: Task | None = None
    message: Message | None = None


@transaction.atomic
def send(
    card: Card,
    caller: CallerKey | None,
    incoming: Incoming,
    *,
    idempotency: Idempotency | None = None,
    push: PushIn | None = None,
    address: str = "",
    network: str = "",
    hop: int = 0,
    source: tuple[str, int] | None = None,
    at: datetime,
) -> Task:
    """Creates a task, or adds a message to an open one; returns without waiting for the agent.

    `network` is that of an anonymous caller. `source` is the id and generation of another agent's
    task that caused this one, `hop` links from the first; the same source again returns the task
    that is there. So does the same Idempotency-Key of the same caller. It is ignored for anonymous
    callers, because they cannot be told apart.

    Raises TaskNotFound, TaskIsTerminal, TaskIsFull, ContextIsFull, ContextMismatch, AgentBusy,
    IdempotencyConflict, and InvalidParams; then nothing is stored.
    """
    transitions.lock_agent(card.agent)
    if incoming.task_id:
        task = _of_caller(card.agent, caller, incoming)
        if task.messages.count() >= MESSAGES_AT_MOST:
            raise TaskIsFull(TOO_MANY_MESSAGES)
        if push:
            pushes.create(task, push, at=at)
        return _continue(task, incoming, card, address=address, at=at)
    idempotency = idempotency if caller else None
    made_of = _link(caller, network, source) if source else {}
    if idempotency or source:
        # Another caller who uses the same id gets a task of its own.
        tasks_of_caller = Task.objects.of_caller(card.agent, caller)
        whole = tasks_of_caller.select_related("context", "status_message")
        if idempotency and (earlier := idempotency.replay(whole, at=at)):
            return earlier
        if source and (earlier := tasks_of_caller.filter(**made_of).first()):
            return earlier
    if not run_queue.has_room(card.agent, is_anonymous=caller is None, network=network):
        raise AgentBusy
    task = Task(
        agent=card.agent,
        context=_context(card.agent, caller, incoming.context_id, network=network, at=at),
        caller=caller,
        status_at=at,
        created_at=at,
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        hop=hop,
        network="" if caller else network,
        generation=1,
        **made_of,
    )
    fields = _fields_of(incoming, task)
    message, task.stored_bytes = transitions.new_message(task, **fields, at=at)
    insert_with_key(message)
    rows = [
        task,
        run_queue.new_run(task, message, at=at),
        transitions.first_event(task, at=at),
        _audit_event("task.received", task, by=caller_actor(caller, address), at=at),
    ]
    insert_each(rows if incoming.context_id else [task.context, *rows])
    task.only_message = message
    if incoming.context_id:
        room.check_context(task.context)
    if push:  # after the first event, which is the answer to this call and no news
        pushes.create(task, push, at=at)
    return task


@transaction.atomic
def cancel(task: Task, *, by: Actor, at: datetime) -> Task:
    """Cancels a task at once, and asks its connector to stop the run; raises TaskIsTerminal."""
    return transition(task.pk, State.CANCELED, by=by, at=at)


@transaction.atomic
def decide(task_id: uuid.UUID, *, delivery: Delivery, response: Response) -> None:
    """Continues the task of a released answer: the agent runs again with the decision, or the task
    is rejected. An answer to a question that is out of date changes nothing; if the task still
    waits, it asks again."""
    task = transitions.lock(task_id)
    task_delivery = TaskDelivery.objects.get(delivery=delivery, task=task)
    at = cast(datetime, response.responded_at)
    if delivery.type != Delivery.Type.QUESTION:
        return
    by = person(response.by) if response.by else Actor("person", name=response.by_name)
    waits = task.state == State.INPUT_REQUIRED
    if not waits or task_delivery.generation != task.generation:
        _record("task.answer_passed_over", task, by=by, at=at, status=response.status)
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
        "generation": task_delivery.generation,
    }
    run_queue.enqueue(task, message, decision=decision, at=at)
    transition(task.pk, State.SUBMITTED, by=by, at=at)


def wait_for(task: Task, *, seconds: float) -> Task:
    """Returns the task once it has ended or waits for input, or as it is after `seconds`. Returns
    it at once, as it was given, if no connector of its agent takes runs, or if too many callers
    wait already."""

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


def caller_actor(caller: CallerKey | None, address: str = "") -> Actor:
    if caller is None:
        return Actor("caller", name="A caller without a key", address=address)
    return Actor("caller", str(caller.pk), caller.name, address)


def _of_caller(agent: Agent, caller: CallerKey | None, incoming: Incoming) -> Task:
    """Returns the caller's own task; the task of another caller is not found."""
    pk = uuid_or_none(incoming.task_id) or NIL
    own = Task.objects.of_caller(agent, caller).filter(pk=pk).first()
    if own is None:
        raise TaskNotFound(TaskNotFound.__doc__)
    task = transitions.lock(own.pk)
    if incoming.context_id not in {"", task.context.context_id}:
        raise ContextMismatch(ContextMismatch.__doc__)
    if task.is_terminal:
        raise TaskIsTerminal(TaskIsTerminal.__doc__)
    return task


def _continue(task: Task, incoming: Incoming, card: Card, *, address: str, at: datetime) -> Task:
    """Queues a run for this message. It starts once the earlier runs of the task have ended. A
    message to a task that waits for people starts none: they see it, and so does the run that
    follows their answer."""
    by = caller_actor(task.caller, address)
    message = transitions.add_message(task, **_fields_of(incoming, task), at=at)
    room.check_task(task)
    room.check_context(task.context)
    _record("task.continued", task, by=by, at=at)
    if task.state == State.INPUT_REQUIRED and card.reply_policy == Card.ReplyPolicy.OWNER:
        transitions.emit_event(task, Event.Kind.MESSAGE, message=message, at=at)
        return task
    # An anonymous caller could otherwise queue many runs with a few tasks.
    is_anonymous = task.caller is None
    if is_anonymous and not run_queue.has_room(task.agent, is_anonymous=True, network=task.network):
        raise AgentBusy
    run_queue.enqueue(task, message, at=at)
    if task.state in Task.INTERRUPTED:
        return transition(task.pk, State.SUBMITTED, by=by, at=at)
    transitions.emit_event(task, Event.Kind.MESSAGE, message=message, at=at)
    return task


def _link(caller: CallerKey | None, network: str, source: tuple[str, int]) -> dict[str, Any]:
    """Returns the link from the source to a task, by which the same push is recognised. Ids of
    other servers may be as short as "1". For anonymous callers they therefore count within one
    network only, or a caller who guesses one would get another caller's task, or could occupy it
    first."""
    task_id, generation = source
    if caller is None:
        task_id = hashlib.sha256(f"{network} {task_id}".encode()).hexdigest()
    return {"source_task": task_id, "source_generation": generation}


def _context(
    agent: Agent, caller: CallerKey | None, given: str, *, network: str, at: datetime
) -> Context:
    """Returns the caller's own context with this id, which is created if needed. Without an id it
    is a new one, which is still to be stored. All anonymous callers are one caller: an id that
    cannot be guessed was given to them, and any other id belongs to the network that used it first.
    Raises InvalidParams."""
    if not given:
        return Context(agent=agent, caller=caller, context_id=str(uuid.uuid4()), created_at=at)
    context, is_new = Context.objects.get_or_create(
        agent=agent, caller=caller, context_id=given, defaults={"created_at": at}
    )
    if caller is None and not is_new and not UNGUESSABLE.fullmatch(given):
        of_others = context.tasks.exclude(network__in=["", network])
        if of_others.exists():
            raise InvalidParams("message.contextId", CONTEXT_IS_TAKEN)
    return context


def _fields_of(incoming: Incoming, task: Task) -> dict[str, Any]:
    """Returns the fields of the message of a caller."""
    return {
        "source": Message.Source.CALLER,
        "parts": incoming.parts,
        "message_id": incoming.message_id,
        "metadata": incoming.metadata,
        "reference_task_ids": incoming.reference_task_ids,
        "accepted_output_modes": incoming.accepted_output_modes,
        "by_name": task.caller.name if task.caller else "",
    }


def _answer_parts(response: Response) -> list[Json]:
    """Returns a person's answer as the parts of a message."""
    edited = response.edited_content
    parts = [_text(response.feedback)] if response.feedback else []
    if edited is not None:
        parts.append(_text(edited) if isinstance(edited, str) else {"data": edited})
    return parts or [_text(f"{response.get_status_display()}.")]


def _text(text: str) -> Json:
    return {"text": text}


def _record(event: str, task: Task, *, by: Actor, at: datetime, **detail: Any) -> None:
    insert(_audit_event(event, task, by=by, at=at, **detail))


def _audit_event(event: str, task: Task, *, by: Actor, at: datetime, **detail: Any) -> AuditEvent:
    return event_of(event, by=by, of=task, team_id=task.agent.team_id, at=at, detail=detail)
