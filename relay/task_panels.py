"""What the relay says on the pages of the inbox about tasks and the machines that run them
(inbox/panels.py, settings.WAKE_PANELS)."""

from __future__ import annotations

from datetime import datetime

from accounts.models import Agent, User
from inbox.panels import Panel
from relay import presence
from relay.models import Card, Surfaced, Task
from wake.models import Delivery

CANCELED = "The caller cancelled this task; nothing to answer."
ENDED = "The task has ended; nothing to answer."
NOT_ASKED = "The task waits for no answer: one is kept with it, and the agent does not hear of it."
WENT_ON = "The task has gone on without an answer; nothing to answer."


def of_delivery(delivery: Delivery, *, user: User, at: datetime) -> Panel | None:
    """Which task it is of, where that is now, and what an answer does, where that is nothing."""
    if not delivery.relayed:
        return None
    rows = Surfaced.objects.select_related("task__caller", "task__context")
    shown = rows.filter(pk=delivery.pk).first()
    if shown is None:
        return None
    return Panel("relay/_of_task.html", {"task": shown.task, "hint": _hint(delivery, shown)})


def of_agent(agent: Agent, *, user: User, at: datetime) -> Panel | None:
    """Which machines are connected, and how much waits for them."""
    if not Card.objects.published().filter(agent=agent).exists():
        return None
    return Panel("relay/_presence.html", {"presence": presence.of(agent, at=at)})


def _hint(delivery: Delivery, shown: Surfaced) -> str:
    if delivery.withdrawn_at is None:
        is_asking = delivery.type == Delivery.Type.QUESTION or delivery.answered_at is not None
        return "" if is_asking else NOT_ASKED
    if shown.task.state == Task.State.CANCELED:
        return CANCELED
    return ENDED if shown.task.is_terminal else WENT_ON
