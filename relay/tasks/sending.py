"""Takes the messages of callers. Each message creates a task, or goes to an open one."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.audit import Actor, event_of, record
from accounts.models import Agent, AuditEvent
from database.idempotency import Idempotency
from database.uuids import NIL, uuid_or_none
from relay.content import blobs
from relay.models import CallerKey, Card, Context, Event, Message, Task, TaskReference
from relay.protocol.dialects import Incoming, PushIn
from relay.protocol.fields import InvalidParams
from relay.runs import queue as run_queue
from relay.tasks import pushes, room, transitions
from relay.tasks.storing import HAS_ROOM, storing, values_of
from relay.tasks.transitions import TaskIsTerminal, TaskNotFound, transition

State = Task.State
BUSY_SECONDS = 60
# A version 4 UUID, as this server generates it: 122 random bits.
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


class OutOfDate(Exception):
    """The card or the caller have changed since they were read, or must be read again."""


@dataclass(frozen=True, slots=True)
class _Request:
    """Holds a message, its sender, its agent and its time."""

    card: Card
    caller: CallerKey | None
    incoming: Incoming
    address: str
    network: str
    traceparent: str
    hop: int
    at: datetime


def send(
    card: Card,
    caller: CallerKey | None,
    incoming: Incoming,
    *,
    idempotency: Idempotency | None = None,
    push: PushIn | None = None,
    address: str = "",
    network: str = "",
    traceparent: str = "",
    hop: int = 0,
    source: tuple[str, int] | None = None,
    is_cached: bool = False,
    at: datetime,
) -> Task:
    """Creates a task, or adds a message to an open one; returns without waiting for the agent.

    `network` is the network of an anonymous caller. If another agent's task caused this one,
    `source` is the id and the generation of that task. `hop` is the number of links from the first
    task of the chain. A second call with the same source, or with the same Idempotency-Key of the
    same caller, returns the existing task. Keys of messages that create a task, and keys of
    messages to each task, are separate. A key is ignored for anonymous callers, because they cannot
    be told apart.

    Raises TaskNotFound, TaskIsTerminal, TaskIsFull, ContextIsFull, ContextMismatch, AgentBusy,
    IdempotencyConflict, and InvalidParams; then nothing is stored. With `is_cached`, also raises
    OutOfDate if card or caller have changed since they were read, or if the message needs another
    row.
    """
    idempotency, network = (idempotency, "") if caller else (None, network)
    request = _Request(card, caller, incoming, address, network, traceparent, hop, at)
    asks_for_more = (
        *(caller is None, idempotency, push, source, incoming.task_id, incoming.context_id),
        *(_uuids_in(incoming.reference_task_ids), blobs.has_large(incoming.parts)),
    )
    if not any(asks_for_more):
        return _create(request, is_cached=is_cached)
    if is_cached:
        raise OutOfDate(OutOfDate.__doc__)
    with transaction.atomic():
        transitions.lock_agent(card.agent)
        if incoming.task_id:
            return _send_to_task(request, idempotency=idempotency, push=push)
        return _create_once(request, idempotency=idempotency, push=push, source=source)


def _create_once(
    request: _Request,
    *,
    idempotency: Idempotency | None,
    push: PushIn | None,
    source: tuple[str, int] | None,
) -> Task:
    """Returns the task that the same Idempotency-Key or source created, or creates one. The
    transaction has locked the agent."""
    agent, caller, incoming = request.card.agent, request.caller, request.incoming
    fields = _link(caller, request.network, source) if source else {}
    if idempotency or source:
        # Another caller who uses the same id gets a task of its own.
        tasks_of_caller = Task.objects.of_caller(agent, caller)
        whole = tasks_of_caller.select_related("context", "status_message")
        if idempotency and (earlier := idempotency.replay(whole, at=request.at)):
            return earlier
        if source and (earlier := tasks_of_caller.filter(**fields).first()):
            return earlier
    if caller is None and not run_queue.has_room_for_anonymous(agent, network=request.network):
        raise AgentBusy
    if idempotency:
        fields["idempotency_key"] = idempotency.key
        fields["idempotency_hash"] = idempotency.fingerprint
    context = _context(request) if incoming.context_id else None
    task = _create(request, context=context, **fields)
    _link_earlier(task, incoming.reference_task_ids)
    if context:
        room.check_context(context)
    if push:  # after the first event, so that this event is not pushed: it answers this call
        pushes.create(task, push, at=request.at)
    return task


def _create(
    request: _Request, *, context: Context | None = None, is_cached: bool = False, **fields: Any
) -> Task:
    """Creates a task, in a new context unless one is given. Raises AgentBusy and OutOfDate."""
    card, at = request.card, request.at
    new_context = [] if context else [_new_context(request)]
    task, message = _new_task(request, context=context or new_context[0], **fields)
    rows = [
        *(*new_context, task, message, run_queue.new_run(task, message, at=at)),
        *(transitions.first_event(task, at=at), _received(task, address=request.address, at=at)),
    ]

    def store(*, room: int) -> Set[str]:
        chain = storing(room=room, is_cached=is_cached, has_context=context is not None)
        return chain.store(*rows, **values_of(card, request.caller), at=at).failed

    failed = store(room=run_queue.exact_count_from())
    if failed == {HAS_ROOM}:
        with transaction.atomic():
            run_queue.wait_for_messages(card.agent)
            failed = store(room=run_queue.MAX_QUEUE)
    if failed - {HAS_ROOM}:
        raise OutOfDate(OutOfDate.__doc__)
    if failed:
        raise AgentBusy
    run_queue.wake_connectors_soon(task)
    return task


def _new_task(request: _Request, *, context: Context, **fields: Any) -> tuple[Task, Message]:
    """Returns a task and its message, which the caller stores."""
    task = Task(
        agent=request.card.agent,
        context=context,
        caller=request.caller,
        status_at=request.at,
        created_at=request.at,
        hop=request.hop,
        network=request.network,
        traceparent=request.traceparent or None,
        generation=1,
        **fields,
    )
    fields = _fields_of(request.incoming, task)
    message, task.stored_bytes = transitions.new_message(task, **fields, at=request.at)
    task.only_message = message
    return task, message


def _received(task: Task, *, address: str, at: datetime) -> AuditEvent:
    by = caller_actor(task.caller, address)
    return event_of("task.received", by=by, of=task, team_id=task.agent.team_id, at=at, detail={})


def _send_to_task(
    request: _Request, *, idempotency: Idempotency | None, push: PushIn | None
) -> Task:
    """Adds a message to a task. The transaction has locked the agent."""
    agent, caller, incoming = request.card.agent, request.caller, request.incoming
    if earlier := _replayed(agent, caller, incoming, idempotency, at=request.at):
        return earlier
    task = _of_caller(agent, caller, incoming)
    room.check_messages(task)
    if push:
        pushes.create(task, push, at=request.at)
    return _continue(task, request, idempotency=idempotency)


def _of_caller(agent: Agent, caller: CallerKey | None, incoming: Incoming) -> Task:
    """Returns the caller's own task. The task of another caller counts as not found."""
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
    """Returns the caller's task if it already has this message, even if the task has ended. Raises
    IdempotencyConflict."""
    if idempotency is None:
        return None
    own = Task.objects.of_caller(agent, caller).select_related("context", "status_message")
    task = own.filter(pk=uuid_or_none(incoming.task_id) or NIL).first()
    if task is None:
        return None
    messages = task.messages.filter(source=Message.Source.CALLER)
    messages = messages.defer("parts_json", "metadata_json", "request_metadata_json")
    return task if idempotency.replay(messages, at=at) else None


def _continue(task: Task, request: _Request, *, idempotency: Idempotency | None) -> Task:
    """Queues a run for this message. The run starts once the earlier runs of the task have ended. A
    message to a task that waits for people starts no run: the people, and the run that follows
    their answer, see the message."""
    card, incoming, at = request.card, request.incoming, request.at
    by = caller_actor(task.caller, request.address)
    fields = _fields_of(incoming, task)
    message = transitions.add_message(task, **fields, idempotency=idempotency, at=at)
    if request.traceparent:
        task.traceparent = request.traceparent
        task.save(update_fields=["traceparent"])
    _link_earlier(task, incoming.reference_task_ids)
    room.check_task(task)
    room.check_context(task.context)
    record("task.continued", by=by, of=task, team=task.agent.team_id, at=at)
    if task.state == State.INPUT_REQUIRED and card.reply_policy == Card.ReplyPolicy.OWNER:
        transitions.emit_event(task, Event.Kind.MESSAGE, message=message, at=at)
        return task
    # An anonymous caller could otherwise queue many runs with a few tasks.
    if task.caller is None and not (
        run_queue.has_room_for_anonymous(task.agent, network=task.network)
        and run_queue.has_room(task.agent)
    ):
        raise AgentBusy
    run_queue.enqueue(task, message, at=at)
    if task.state in Task.INTERRUPTED:
        return transition(task.pk, State.SUBMITTED, by=by, at=at)
    transitions.emit_event(task, Event.Kind.MESSAGE, message=message, at=at)
    return task


def _link(caller: CallerKey | None, network: str, source: tuple[str, int]) -> dict[str, Any]:
    """Returns the link from the source to a task. A repeated push is identified by this link. Ids
    of other servers may be as short as "1". So for anonymous callers such an id counts within one
    network only. Otherwise a caller who guesses an id would get another caller's task, or could
    take the id first."""
    task_id, generation = source
    if caller is None:
        task_id = hashlib.sha256(f"{network} {task_id}".encode()).hexdigest()
    return {"source_task": task_id, "source_generation": generation}


def _new_context(request: _Request) -> Context:
    agent, caller, at = request.card.agent, request.caller, request.at
    return Context(agent=agent, caller=caller, context_id=str(uuid.uuid4()), created_at=at)


def _context(request: _Request) -> Context:
    """Returns the caller's own context with this id. Creates the context if it does not exist. All
    anonymous callers are one caller. A context id that cannot be guessed was given to its caller by
    Wake. Any other context id belongs to the network that used it first. Raises InvalidParams."""
    given = request.incoming.context_id
    context, is_new = Context.objects.get_or_create(
        agent=request.card.agent,
        caller=request.caller,
        context_id=given,
        defaults={"created_at": request.at},
    )
    if request.caller is None and not is_new and not UNGUESSABLE.fullmatch(given):
        of_others = context.tasks.exclude(network__in=["", request.network])
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
        "request_metadata": incoming.request_metadata,
        "extensions": incoming.extensions,
        "reference_task_ids": incoming.reference_task_ids,
        "accepted_output_modes": incoming.accepted_output_modes,
        "by_name": task.caller.name if task.caller else "",
    }


def caller_actor(caller: CallerKey | None, address: str = "") -> Actor:
    if caller is None:
        return Actor("caller", name="A caller without a key", address=address)
    return Actor("caller", str(caller.pk), caller.name, address)


def _uuids_in(reference_task_ids: Iterable[str]) -> set[uuid.UUID]:
    """Returns only the UUIDs, because only UUIDs may name tasks of this server. Other servers may
    use any text as an id."""
    return {found for text in reference_task_ids if (found := uuid_or_none(text))}


def _link_earlier(task: Task, reference_task_ids: Iterable[str]) -> None:
    """Stores which tasks of this server these ids name. The tasks may belong to any caller. An
    agent that calls another agent names the task that it works on, and that task was sent by a
    different caller. Pages show a link to people who may see both tasks."""
    uuids = _uuids_in(reference_task_ids) - {task.pk}
    if not uuids:
        return
    earlier = Task.objects.filter(pk__in=uuids).values_list("pk", flat=True)
    TaskReference.objects.bulk_create(
        [TaskReference(task=task, earlier_id=pk) for pk in earlier], ignore_conflicts=True
    )
