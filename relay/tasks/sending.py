"""Takes the messages of callers: each creates a task, or goes to an open one."""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from accounts.audit import Actor, event_of, record
from accounts.models import Agent, AuditEvent
from database.compiled_queries import insert_each, insert_with_key
from database.idempotency import Idempotency
from database.new_rows import new
from database.uuids import NIL, uuid_or_none
from relay.content import blobs
from relay.models import CallerKey, Card, Context, Event, Message, Task
from relay.protocol.dialects import Incoming, PushIn
from relay.protocol.fields import InvalidParams
from relay.runs import queue as run_queue
from relay.tasks import one_statement, pushes, references, room, transitions
from relay.tasks.transitions import TaskIsTerminal, TaskNotFound, transition

State = Task.State
BUSY_SECONDS = 60
# A version 4 UUID, as they are made here: 122 random bits.
UNGUESSABLE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
CONTEXT_IS_TAKEN = (
    "Another caller uses this id. Nothing was stored: leave it out, and a new one is made for you."
)


class ContextMismatch(Exception):
    """This task belongs to another context."""


class AgentBusy(Exception):
    """Too many requests are waiting for this agent; `retry_after` is in seconds."""

    def __init__(self) -> None:
        super().__init__("Too many requests are waiting for this agent.")
        self.retry_after = BUSY_SECONDS


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
    that is there. So does the same Idempotency-Key of the same caller, once for messages that make
    a task and once for the messages to each task. It is ignored for anonymous callers, because they
    cannot be told apart.

    Raises TaskNotFound, TaskIsTerminal, TaskIsFull, ContextIsFull, ContextMismatch, AgentBusy,
    IdempotencyConflict, and InvalidParams; then nothing is stored.
    """
    task = None
    if caller and not (idempotency or push or source) and fits_one_statement(incoming):
        task = send_at_once(card, caller, incoming, address=address, hop=hop, at=at)
    if task:
        return task
    with transaction.atomic():
        return _send_step_by_step(
            card,
            caller,
            incoming,
            idempotency=idempotency if caller else None,
            push=push,
            address=address,
            network="" if caller else network,
            hop=hop,
            source=source,
            at=at,
        )


def fits_one_statement(incoming: Incoming) -> bool:
    """Returns whether send_at_once() can store the message: on PostgreSQL, if it names no task or
    context that may exist, and has no large file."""
    names_earlier = (
        incoming.task_id or incoming.context_id or references.uuids_in(incoming.reference_task_ids)
    )
    is_postgresql = connection.vendor == "postgresql"
    return is_postgresql and not names_earlier and not blobs.has_large(incoming.parts)


def send_at_once(
    card: Card,
    caller: CallerKey,
    incoming: Incoming,
    *,
    address: str = "",
    hop: int = 0,
    at: datetime,
) -> Task | None:
    """Does what send() does for a message that fits_one_statement(). Returns None if anything is in
    the way, and then nothing was stored; send() finds out what it is. Card and caller may
    come from the cache (relay/cards/caller_cache.py)."""
    context = _new_context(card.agent, caller, at=at)
    task, message = _new_task(card, caller, incoming, context=context, hop=hop, at=at)
    if not one_statement.store(card, task, message, _received(task, address=address, at=at)):
        return None
    run_queue.wake_connectors_soon(task)
    return task


def _send_step_by_step(
    card: Card,
    caller: CallerKey | None,
    incoming: Incoming,
    *,
    idempotency: Idempotency | None,
    push: PushIn | None,
    address: str,
    network: str,
    hop: int,
    source: tuple[str, int] | None,
    at: datetime,
) -> Task:
    transitions.lock_agent(card.agent)
    if incoming.task_id:
        earlier_task = _replayed(card.agent, caller, incoming, idempotency, at=at)
        if earlier_task:
            return earlier_task
        task = _of_caller(card.agent, caller, incoming)
        room.check_messages(task)
        if push:
            pushes.create(task, push, at=at)
        return _continue(task, incoming, card, idempotency=idempotency, address=address, at=at)
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
    if incoming.context_id:
        context = _context(card.agent, caller, incoming.context_id, network=network, at=at)
    else:
        context = _new_context(card.agent, caller, at=at)
    task, message = _new_task(
        card,
        caller,
        incoming,
        context=context,
        hop=hop,
        at=at,
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        network=network,
        **made_of,
    )
    insert_with_key(message)
    rows = [
        task,
        run_queue.new_run(task, message, at=at),
        transitions.first_event(task, at=at),
        _received(task, address=address, at=at),
    ]
    insert_each(rows if incoming.context_id else [context, *rows])
    references.link(task, incoming.reference_task_ids)
    run_queue.wake_connectors(task)
    if incoming.context_id:
        room.check_context(context)
    if push:  # after the first event, which is the answer to this call and no news
        pushes.create(task, push, at=at)
    return task


def _new_task(
    card: Card,
    caller: CallerKey | None,
    incoming: Incoming,
    *,
    context: Context,
    hop: int,
    network: str = "",
    at: datetime,
    **fields: Any,
) -> tuple[Task, Message]:
    """Returns a task and its message, which are still to be stored."""
    task = new(
        Task,
        agent=card.agent,
        context=context,
        caller=caller,
        status_at=at,
        created_at=at,
        hop=hop,
        network=network,
        generation=1,
        **fields,
    )
    message, task.stored_bytes = transitions.new_message(task, **_fields_of(incoming, task), at=at)
    task.only_message = message
    return task, message


def _received(task: Task, *, address: str, at: datetime) -> AuditEvent:
    by = caller_actor(task.caller, address)
    return event_of("task.received", by=by, of=task, team_id=task.agent.team_id, at=at, detail={})


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


def _replayed(
    agent: Agent,
    caller: CallerKey | None,
    incoming: Incoming,
    idempotency: Idempotency | None,
    *,
    at: datetime,
) -> Task | None:
    """Returns the caller's task if it already has this message, also once the task has ended.
    Raises IdempotencyConflict."""
    if idempotency is None:
        return None
    own = Task.objects.of_caller(agent, caller).select_related("context", "status_message")
    task = own.filter(pk=uuid_or_none(incoming.task_id) or NIL).first()
    if task is None:
        return None
    messages = task.messages.filter(source=Message.Source.CALLER)
    messages = messages.defer("parts_json", "metadata_json")
    return task if idempotency.replay(messages, at=at) else None


def _continue(
    task: Task,
    incoming: Incoming,
    card: Card,
    *,
    idempotency: Idempotency | None,
    address: str,
    at: datetime,
) -> Task:
    """Queues a run for this message. It starts once the earlier runs of the task have ended. A
    message to a task that waits for people starts none: they see it, and so does the run that
    follows their answer."""
    by = caller_actor(task.caller, address)
    fields = _fields_of(incoming, task)
    message = transitions.add_message(task, **fields, idempotency=idempotency, at=at)
    references.link(task, incoming.reference_task_ids)
    room.check_task(task)
    room.check_context(task.context)
    record("task.continued", by=by, of=task, team=task.agent.team_id, at=at)
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


def _new_context(agent: Agent, caller: CallerKey | None, *, at: datetime) -> Context:
    return new(Context, agent=agent, caller=caller, context_id=str(uuid.uuid4()), created_at=at)


def _context(
    agent: Agent, caller: CallerKey | None, given: str, *, network: str, at: datetime
) -> Context:
    """Returns the caller's own context with this id, which is created if needed. All anonymous
    callers are one caller: an id that cannot be guessed was given to them, and any other id belongs
    to the network that used it first. Raises InvalidParams."""
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


def caller_actor(caller: CallerKey | None, address: str = "") -> Actor:
    if caller is None:
        return Actor("caller", name="A caller without a key", address=address)
    return Actor("caller", str(caller.pk), caller.name, address)
