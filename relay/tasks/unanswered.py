"""Continues or fails tasks whose question was not answered in time, as their agent requested.

The job that times deliveries out cannot do this, because that job locks deliveries first, and a
task must be locked before its deliveries. So this job selects the rows itself.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django.db.models import QuerySet

from accounts.audit import SYSTEM
from database.sweeps import sweep
from relay.models import Message, Task, TaskDelivery
from relay.runs import queue as run_queue
from relay.tasks import transitions
from wake.models import Delivery

AT_ONCE = 200
TIMED_OUT = "timed_out"
STOPPED = "No one answered in time, and the agent asked to stop without an answer."
CONTINUES = "No one answered in time."

_Does = Delivery.OnTimeout


def continue_unanswered(*, at: datetime) -> int:
    """Acts on every question whose deadline has passed, one by one. Returns how many."""
    rows = overdue(at).select_related("task__agent", "delivery").order_by("delivery__expires_at")
    rows = rows.defer("delivery__details_json")
    locks = ("task__agent", "task", "delivery")
    return sweep(rows, partial(_continue, at=at), what="questions", at_once=AT_ONCE, locks=locks)


def overdue(at: datetime) -> QuerySet[TaskDelivery]:
    """Returns the questions whose deadline has passed and whose agent does not wait any longer."""
    return TaskDelivery.objects.filter(
        task__state=Task.State.INPUT_REQUIRED,
        delivery__in=Delivery.objects.unanswered().filter(
            expires_at__lte=at, on_timeout__in=[_Does.PROCEED, _Does.ABORT]
        ),
    )


def _continue(task_delivery: TaskDelivery, *, at: datetime) -> bool:
    """Acts on one question. The decision says that there was no answer, so that the agent never
    takes the decision for an approval."""
    task, question = transitions.lock(task_delivery.task_id), task_delivery.delivery
    is_open = question.answered_at is None and question.superseded_at is None
    # The generation is not compared, because an outdated question is not open any more.
    if not is_open or task.state != Task.State.INPUT_REQUIRED:
        return False
    if question.on_timeout == _Does.ABORT:
        why = transitions.add_message(task, Message.Source.RELAY, [{"text": STOPPED}], at=at)
        transitions.transition(task.pk, Task.State.FAILED, message=why, by=SYSTEM, at=at)
        return True
    text = f"{CONTINUES} {question.assumption}".strip()
    message = transitions.add_message(task, Message.Source.RELAY, [{"text": text}], at=at)
    decision = {
        "status": TIMED_OUT,
        "feedback": question.assumption,
        "edited_content": None,
        "by": SYSTEM.name,
        "delivery_id": str(question.pk),
        "generation": task_delivery.generation,
    }
    run_queue.enqueue(task, message, decision=decision, at=at)
    transitions.transition(task.pk, Task.State.SUBMITTED, by=SYSTEM, at=at)
    return True
