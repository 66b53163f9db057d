"""Shows a task in the inbox of the agent's team. Each turn that concerns people is a delivery,
which replaces the task's previous delivery."""

from __future__ import annotations

import logging
import math
from datetime import datetime
from typing import Any, TypedDict

from accounts.audit import SYSTEM, Actor
from database.encryption import Unreadable
from relay.content.compact_json import dumps
from relay.models import Event, Message, Task, TaskDelivery
from relay.protocol.dialects import FOR_PEOPLE
from relay.tasks.blocks import fitting, message_blocks, speaker, text_of
from relay.tasks.delivery_details import details_json, has_parts, read_turns
from relay.tasks.headlines import LOOKED_AT, SUMMARY, cut, in_short
from wake import outcomes
from wake.deliveries import deliver
from wake.models import Delivery, Outcome
from wake.withdrawals import withdraw

log = logging.getLogger(__name__)

PROVIDER = "A2A"
SHORTEST_WINDOW = 60
UNREADABLE = (
    "The request and the artifacts can't be shown, because their encryption key is missing."
)

State = Task.State
Type = Delivery.Type
# A delivery of a task supersedes the task's newest earlier delivery of these types.
FOLLOWS = {
    Type.QUESTION: {Type.QUESTION},
    Type.OUTPUT: {Type.QUESTION, Type.OUTPUT},
    Type.UPDATE: {Type.UPDATE},
    Type.ALERT: set[Type](),
}

# The outcome of the question that a task asked last, by the state in which the task ends.
OUTCOMES = {
    State.COMPLETED: Outcome.Status.DONE,
    State.FAILED: Outcome.Status.FAILED,
    State.CANCELED: Outcome.Status.SKIPPED,
    State.REJECTED: Outcome.Status.SKIPPED,
}


class QuestionFields(TypedDict, total=False):
    """Holds the fields of a delivery that the agent sets with its question."""

    timeout_seconds: int | None
    assumption: str
    on_timeout: str
    priority: str
    quorum: int | None
    irreversible: bool


def deliver_event(task: Task, event: Event) -> None:
    """Creates a delivery if people should know of this event, and withdraws outdated ones. Runs
    inside the transaction of the event. The transaction has locked the agent and the task."""
    if event.kind == Event.Kind.MESSAGE:
        if question := _open_question(task):
            _show(
                task,
                event,
                Type.QUESTION,
                message=task.status_message,
                fields=_fields_left(question, event.at),
            )
        return
    kind = _kind(task, event)
    new_delivery = (
        _show(task, event, kind, message=event.message, fields=_fields_set(event)) if kind else None
    )
    _withdraw_others(task, new_delivery, at=event.at)


def report_end(task: Task, message: Message | None, *, by: Actor, at: datetime) -> None:
    """Stores the end of a task as the outcome of its newest question. Runs inside the transaction
    that ended the task. A task that never asked people has no outcome."""
    questions = Delivery.objects.filter(task_delivery__task=task, type=Type.QUESTION)
    newest = questions.filter(erased_at__isnull=True).order_by("-task_delivery__generation")
    # The lock keeps retention from erasing the question before its outcome is stored.
    question = newest.defer("details_json").select_for_update(of=("self",)).first()
    if question is None:
        return
    summary = cut(text_of(message.parts)[:LOOKED_AT], SUMMARY) if message else ""
    status = OUTCOMES[State(task.state)]
    outcome = Outcome(delivery=question, status=status, summary=summary, reported_at=at)
    outcomes.store(outcome, by=by if by.kind == "agent" else SYSTEM)


def _kind(task: Task, event: Event) -> Type | None:
    match event.state:
        case State.INPUT_REQUIRED:
            return Type.QUESTION
        case State.COMPLETED:
            return Type.OUTPUT if task.artifacts.exists() else None
        case State.FAILED:
            return Type.ALERT
        case State.WORKING:
            return Type.UPDATE if event.message_id else None
        case State.AUTH_REQUIRED:
            return Type.UPDATE
    return None


def _open_question(task: Task) -> Delivery | None:
    """Returns the question that waits for an answer. A question with a held answer counts as
    answered. If the task still needs an answer later, decide() asks again."""
    rows = Delivery.objects.filter(task_delivery__task=task, type=Type.QUESTION)
    return rows.unanswered().defer("details_json").first()


def _withdraw_others(task: Task, except_for: Delivery | None, *, at: datetime) -> None:
    """Withdraws questions that the task no longer asks. If the task has ended, withdraws all its
    other deliveries, too."""
    rows = Delivery.objects.filter(task_delivery__task=task)
    if except_for:
        rows = rows.exclude(pk=except_for.pk)
    elif not task.is_terminal:
        rows = rows.filter(type=Type.QUESTION)
    withdraw(rows, at=at)


def _show(
    task: Task, event: Event, kind: Type, *, message: Message | None, fields: QuestionFields
) -> Delivery:
    if fields.get("timeout_seconds") is not None and not fields.get("on_timeout"):
        # relay/tasks/unanswered.py treats such a question in the same way.
        fields = {**fields, "on_timeout": Delivery.OnTimeout.HOLD}
    headline, summary, details = _texts(task, kind, message)
    delivery = deliver(
        task.agent,
        agent_id=task.agent.agent_id,
        provider=PROVIDER,
        type=kind,
        headline=headline,
        summary=summary,
        details_json=details,
        thread=str(task.context_id),
        supersedes=_earlier(task, kind),
        is_internal=True,
        at=event.at,
        **fields,
    ).delivery
    TaskDelivery.objects.create(delivery=delivery, task=task, generation=event.generation)
    return delivery


def _earlier(task: Task, kind: Type) -> Any:
    rows = Delivery.objects.filter(task_delivery__task=task, type__in=FOLLOWS[kind])
    return rows.order_by("-task_delivery__generation").values_list("pk", flat=True).first()


def _texts(task: Task, kind: Type, message: Message | None) -> tuple[str, str, str]:
    """Returns headline, summary and details. For a failed task the details contain only the content
    that can be read. Otherwise the task would never end, and would keep its place in the agent's
    queue. For any other task Unreadable is raised, because people should not answer a question that
    they cannot see."""
    request, newest = read_turns(task, message)
    try:
        request_text = text_of(request.parts) if request and has_parts(request) else ""
        details = details_json(task, message, request, newest)
    except Unreadable:
        if kind != Type.ALERT:
            raise
        log.error(  # noqa: TRY400 - the trace says nothing more
            "The end of task %s is delivered without its request: WAKE_ENCRYPTION_KEYS lacks a key",
            task.pk,
        )
        request_text, details = "", _details_without_request(message)
    return *_in_short(task, kind, message, request, request_text), details


def _details_without_request(message: Message | None) -> str:
    text = text_of(message.parts) if message else ""
    blocks = [*message_blocks(message), {"type": "text", "text": UNREADABLE}]
    return dumps({"wake_blocks": 1, "text": text, "blocks": list(fitting(blocks))})


def _in_short(
    task: Task, kind: Type, message: Message | None, request: Message | None, request_text: str
) -> tuple[str, str]:
    agent = task.agent.agent_id
    stand_in = {
        Type.QUESTION: f"{agent} waits for your answer",
        Type.OUTPUT: f"{agent} has finished",
        Type.ALERT: f"A task of {agent} ended early",
        Type.UPDATE: f"{agent} reports progress",
    }
    if task.state == State.AUTH_REQUIRED:
        stand_in[Type.UPDATE] = "Waiting for the caller to sign in"
    if kind == Type.OUTPUT and (names := [name for name in _names_of_artifacts(task) if name]):
        stand_in[kind] = f"Created {', '.join(names)}"
    who = speaker(request, task) if request else "A caller"
    return in_short(
        text_of(message.parts) if message else "",
        headline=stand_in[kind],
        summary=f"{who} asked: {request_text}" if request_text else f"For {who}.",
    )


def _names_of_artifacts(task: Task) -> list[str]:
    return [artifact.name for artifact in task.artifacts.only("task", "name")]


def _fields_set(event: Event) -> QuestionFields:
    """Returns the fields that the agent set with its question (relay/runs/results.py has checked
    them)."""
    message = event.message
    if message is None or event.state != State.INPUT_REQUIRED:
        return {}
    if message.source != Message.Source.AGENT:
        return {}
    fields: QuestionFields = message.metadata.get(FOR_PEOPLE, {})
    return fields


def _fields_left(question: Delivery, at: datetime) -> QuestionFields:
    """Returns the fields of a question that is shown again, with the rest of its time."""
    seconds = None
    if question.expires_at is not None:
        left = math.ceil((question.expires_at - at).total_seconds())
        seconds = max(left, SHORTEST_WINDOW)
    return {
        "timeout_seconds": seconds,
        "assumption": question.assumption,
        "on_timeout": question.on_timeout,
        "priority": question.priority,
        "quorum": question.quorum,
        "irreversible": question.irreversible,
    }
