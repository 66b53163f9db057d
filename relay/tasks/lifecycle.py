"""What callers and people do to tasks: send, cancel, answer, wait."""

from __future__ import annotations

import hashlib
import re
import threading
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.audit import SYSTEM, Actor, person, record
from accounts.models import Agent
from relay import dispatches, moves, presence, pushes
from relay.fields import InvalidParams
from relay.models import CallerKey, Card, Context, Event, Message, Surfaced, Task
from relay.moves import IllegalMove, TaskIsTerminal, TaskNotFound, transition
from relay.wire import Incoming, Json, PushIn
from wake.deliveries import REPLAY_WINDOW, Idempotency, IdempotencyConflict
from wake.models import Delivery, Response
from wake.waiting import patiently

__all__ = ["IllegalMove", "TaskIsTerminal", "TaskNotFound", "transition"]

State = Task.State
BUSY_SECONDS = 60
MESSAGES_AT_MOST = 1_000  # of a task, whoever said them
# A version 4 UUID, as they are made here: 122 random bits.
GUESSED_BY_NOBODY = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
CONTEXT_IS_TAKEN = (
    "Somebody else uses this id. Nothing was stored: leave it out, and a new one is made for you."
)
# Half of those who may wait (wake/waiting.py): a crowd of callers, whom nobody may know, must leave
# room for the agents that wait for their answers, and for the machines that poll for tasks.
_places = threading.BoundedSemaphore((settings.WAKE_MAX_WAITING + 1) // 2)


class ContextMismatch(Exception):
    """This task belongs to another context."""


class TaskIsFull(Exception):
    """This task has as many messages as one may have: go on in a new one of the same context."""


class AgentBusy(Exception):
    """Too much waits for this agent already; `retry_after` is in seconds."""

    def __init__(self) -> None:
        super().__init__("Too much waits for this agent already.")
        self.retry_after = BUSY_SECONDS


@dataclass(frozen=True, slots=True)
class Reply:
    """What a send is answered with, exactly one of the two: a message alone is the answer of a run
    that wanted no task around it."""

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
    at: datetime | None = None,
) -> Task:
    """A new task, or one more message to an open one; returns without waiting for anybody.

    `network` is that of a caller without a key. `source` is the task of another agent, and its
    generation, of which this one is made (`hop` links from the first); the same one again is the
    task that is there. So is the same Idempotency key of the same caller: nobody's cannot be told
    apart, and is passed over. Raises TaskNotFound, TaskIsTerminal, TaskIsFull, ContextMismatch,
    AgentBusy, IdempotencyConflict, and InvalidParams; then nothing was stored.
    """
    at = at or timezone.now()
    moves.lock_agent(card.agent)
    if incoming.task_id:
        task = _of_caller(card.agent, caller, incoming)
        if task.messages.count() >= MESSAGES_AT_MOST:
            raise TaskIsFull(TaskIsFull.__doc__)
        if push:
            pushes.create(task, push, at=at)
        return _go_on(task, incoming, card, address=address, at=at)
    idempotency = idempotency if caller else None
    if idempotency and (earlier := _replayed(card.agent, caller, idempotency, at=at)):
        return earlier
    made_of = _link(caller, network, source) if source else {}
    mine = Task.objects.of_caller(card.agent, caller)  # whoever else was told of it made their own
    if source and (earlier := mine.filter(**made_of).first()):
        return earlier
    if not dispatches.has_room(card.agent, stranger=caller is None, network=network):
        raise AgentBusy
    task = Task.objects.create(
        agent=card.agent,
        context=_context(card.agent, caller, incoming.context_id, network=network, at=at),
        caller=caller,
        status_at=at,
        created_at=at,
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        hop=hop,
        network="" if caller else network,
        **made_of,
    )
    dispatches.enqueue(task, _said(task, incoming, at=at), at=at)
    moves.note(task, Event.Kind.STATUS, at=at)
    if push:  # after the first event, which is the answer to this call and no news
        pushes.create(task, push, at=at)
    _record("task.received", task, by=caller_actor(caller, address), at=at)
    return task


@transaction.atomic
def cancel(task: Task, *, by: Actor, at: datetime) -> Task:
    """At once, whatever its machine is doing, which is told to stop; raises TaskIsTerminal."""
    return transition(task.pk, State.CANCELED, by=by, at=at)


@transaction.atomic
def decide(task_id: uuid.UUID, *, delivery: Delivery, response: Response) -> None:
    """A person's answer, as it is released: the agent runs again with it, or the task is rejected.

    What was asked about something that is not there any more changes nothing; where the task still
    waits, it asks once more.
    """
    task = moves.lock(task_id)
    shown = Surfaced.objects.get(delivery=delivery, task=task)
    at = response.responded_at or timezone.now()
    if delivery.type != Delivery.Type.QUESTION:
        return
    by = person(response.by) if response.by else Actor("person", name=response.by_name)
    waits = task.state == State.INPUT_REQUIRED
    if not waits or shown.generation != task.generation:
        _record("task.answer_passed_over", task, by=by, at=at, status=response.status)
        if waits:
            transition(task.pk, State.INPUT_REQUIRED, message=task.status_message, by=SYSTEM, at=at)
        return
    name = response.by_name
    if response.status == Response.Status.REJECTED:
        # In the agent's stead, so to its caller it is the agent's word.
        parts = [_text(response.feedback or "Rejected.")]
        why = moves.say(task, Message.Source.RELAY, parts, by_name=name, at=at)
        transition(task.pk, State.REJECTED, message=why, by=by, at=at)
        return
    message = moves.say(task, Message.Source.OWNER, _words(response), by_name=name, at=at)
    decision = {
        "status": response.status,
        "feedback": response.feedback,
        "edited_content": response.edited_content,
        "by": name,
        "delivery_id": str(delivery.pk),
        "generation": shown.generation,
    }
    dispatches.enqueue(task, message, decision=decision, at=at)
    transition(task.pk, State.SUBMITTED, by=by, at=at)


def wait_for(task_id: uuid.UUID, *, seconds: float) -> Task:
    """The task as soon as it has ended or waits for somebody, or as it is after `seconds`; at once
    where no machine of its agent is there to move it, or too many wait already."""

    def look() -> Task:
        return Task.objects.select_related("agent", "context", "status_message").get(pk=task_id)

    def is_settled(task: Task) -> bool:
        return task.is_terminal or task.state in Task.INTERRUPTED

    task = look()
    if is_settled(task) or not presence.is_online(task.agent, at=timezone.now()):
        return task
    if not seconds or not _places.acquire(blocking=False):
        return task
    try:
        return patiently(look, seconds=seconds, until=is_settled)
    finally:
        _places.release()


def reply_with(task: Task) -> Reply:
    """For whoever sent the first message and waited this long."""
    if task.is_direct and task.is_terminal and task.status_message:
        return Reply(message=task.status_message)
    return Reply(task=task)


def caller_actor(caller: CallerKey | None, address: str = "") -> Actor:
    if caller is None:
        return Actor("caller", name="Somebody without a key", address=address)
    return Actor("caller", str(caller.pk), caller.name, address)


def _of_caller(agent: Agent, caller: CallerKey | None, incoming: Incoming) -> Task:
    """Somebody else's is not there."""
    try:
        pk = uuid.UUID(incoming.task_id)
    except ValueError:
        raise TaskNotFound(TaskNotFound.__doc__) from None
    found = Task.objects.of_caller(agent, caller).filter(pk=pk).first()
    if found is None:
        raise TaskNotFound(TaskNotFound.__doc__)
    task = moves.lock(found.pk)
    if incoming.context_id not in {"", task.context.context_id}:
        raise ContextMismatch(ContextMismatch.__doc__)
    if task.is_terminal:
        raise TaskIsTerminal(TaskIsTerminal.__doc__)
    return task


def _go_on(task: Task, incoming: Incoming, card: Card, *, address: str, at: datetime) -> Task:
    """A task that waits for this caller runs again; else the message is kept for who reads the
    task next, which is no answer to what a person was asked."""
    by = caller_actor(task.caller, address)
    message = _said(task, incoming, at=at)
    _record("task.continued", task, by=by, at=at)
    waits_for_people = task.state == State.INPUT_REQUIRED and (
        card.reply_policy == Card.ReplyPolicy.OWNER
    )
    if task.state not in Task.INTERRUPTED or waits_for_people:
        moves.note(task, Event.Kind.MESSAGE, message=message, at=at)
        return task
    # A stranger may have had many tasks run that now wait for it, and go on with all of them.
    stranger = task.caller is None
    if stranger and not dispatches.has_room(task.agent, stranger=True, network=task.network):
        raise AgentBusy
    dispatches.enqueue(task, message, at=at)
    return transition(task.pk, State.SUBMITTED, by=by, at=at)


def _replayed(
    agent: Agent, caller: CallerKey | None, idempotency: Idempotency, *, at: datetime
) -> Task | None:
    """The task that this key made within the window; an older one gives the key free."""
    rows = Task.objects.of_caller(agent, caller).select_related("context", "status_message")
    earlier = rows.filter(idempotency_key=idempotency.key).first()
    if earlier is None:
        return None
    if earlier.created_at <= at - REPLAY_WINDOW:
        earlier.idempotency_key = None
        earlier.save(update_fields=["idempotency_key"])
        return None
    if earlier.idempotency_hash != idempotency.fingerprint:
        raise IdempotencyConflict(IdempotencyConflict.__doc__)
    return earlier


def _link(caller: CallerKey | None, network: str, source: tuple[str, int]) -> dict[str, Any]:
    """What a task was made of, by which the same news is told. Ids of elsewhere may be as short as
    "1": of those who have no key they count for one network alone, or whoever guesses one would be
    told somebody else's task, or be there first with words of their own."""
    task_id, generation = source
    if caller is None:
        task_id = hashlib.sha256(f"{network} {task_id}".encode()).hexdigest()
    return {"source_task": task_id, "source_generation": generation}


def _context(
    agent: Agent, caller: CallerKey | None, given: str, *, network: str, at: datetime
) -> Context:
    """The caller's own of this id, which is made where it is not there. Those who have no key are
    one caller: whoever holds an id that nobody guesses was told it, any other is of the network
    that it came from first. Raises InvalidParams."""
    found, is_new = Context.objects.get_or_create(
        agent=agent,
        caller=caller,
        context_id=given or str(uuid.uuid4()),
        defaults={"created_at": at},
    )
    if caller is None and not is_new and not GUESSED_BY_NOBODY.fullmatch(given):
        of_others = found.tasks.exclude(network__in=["", network])
        if of_others.exists():
            raise InvalidParams("message.contextId", CONTEXT_IS_TAKEN)
    return found


def _said(task: Task, incoming: Incoming, *, at: datetime) -> Message:
    return moves.say(
        task,
        Message.Source.CALLER,
        incoming.parts,
        message_id=incoming.message_id,
        metadata=incoming.metadata,
        reference_task_ids=incoming.reference_task_ids,
        by_name=task.caller.name if task.caller else "",
        at=at,
    )


def _words(response: Response) -> list[Json]:
    """What a person answered, as the parts of a message."""
    edited = response.edited_content
    parts = [_text(response.feedback)] if response.feedback else []
    if edited is not None:
        parts.append(_text(edited) if isinstance(edited, str) else {"data": edited})
    return parts or [_text("Approved.")]


def _text(text: str) -> Json:
    return {"text": text}


def _record(event: str, task: Task, *, by: Actor, at: datetime, **detail: Any) -> None:
    record(event, by=by, of=task, team=task.agent.team_id, at=at, **detail)
