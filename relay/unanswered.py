"""Does what an agent said it would do where nobody answers its question in time: goes on, or stops.

Not a receiver of `signals.timed_out`: that comes with the deliveries locked, and a task is moved
with its agent locked first. So the rows are looked for again here.
"""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import transaction

from accounts.audit import SYSTEM
from relay import dispatches, expiry, moves
from relay.models import Message, Surfaced, Task
from wake.models import Delivery

AT_ONCE = 200
TIMED_OUT = "timed_out"
STOPPED = "Nobody answered in time, and the agent was not to go on without an answer."
GOES_ON = "Nobody answered in time."

_Does = Delivery.OnTimeout


def go_on(*, at: datetime) -> int:
    """Of every question whose window has passed, each on its own; returns how many."""
    overdue = Surfaced.objects.filter(
        task__state=Task.State.INPUT_REQUIRED,
        delivery__in=Delivery.objects.unanswered().filter(
            expires_at__lte=at, on_timeout__in=[_Does.PROCEED, _Does.ABORT]
        ),
    )
    pairs = list(overdue.values_list("pk", "task")[:AT_ONCE])
    return expiry.each(_go_on, pairs, at=at)


@transaction.atomic
def _go_on(pk: uuid.UUID, task_id: uuid.UUID, *, at: datetime) -> bool:
    """Nobody's approval: the decision says that there was none."""
    task = moves.lock(task_id)
    shown = Surfaced.objects.select_related("delivery").get(pk=pk)
    question = Delivery.objects.select_for_update(of=("self",)).get(pk=pk)
    is_open = question.answered_at is None and question.superseded_at is None
    # Not its generation: nobody answers here, and one that is out of date is not open any more.
    if not is_open or task.state != Task.State.INPUT_REQUIRED:
        return False
    if question.on_timeout == _Does.ABORT:
        why = moves.say(task, Message.Source.RELAY, [{"text": STOPPED}], at=at)
        moves.transition(task.pk, Task.State.FAILED, message=why, by=SYSTEM, at=at)
        return True
    words = f"{GOES_ON} {question.assumption}".strip()
    message = moves.say(task, Message.Source.RELAY, [{"text": words}], at=at)
    decision = {
        "status": TIMED_OUT,
        "feedback": question.assumption,
        "edited_content": None,
        "by": SYSTEM.name,
        "delivery_id": str(question.pk),
        "generation": shown.generation,
    }
    dispatches.enqueue(task, message, decision=decision, at=at)
    moves.transition(task.pk, Task.State.SUBMITTED, by=SYSTEM, at=at)
    return True
