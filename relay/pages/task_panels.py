"""Shows tasks and the number of online connectors on the pages of the inbox (pages/panels.py,
settings.WAKE_PANELS)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from accounts.models import Agent, User
from pages.panels import Panel
from relay.models import Card, Task, TaskDelivery
from relay.runs import presence
from wake.models import Delivery, Response

CANCELED = "The caller canceled this task, so there is nothing to answer."
ENDED = "The task has ended, so there is nothing to answer."
NOT_ASKED = "The task needs no answer now. Yours will be saved, but not sent to the agent."
CONTINUED = "The task continued without an answer, so there is nothing to answer."


def of_delivery(delivery: Delivery, *, user: User, at: datetime) -> Panel | None:
    """Shows the task of a delivery, its state, and why an answer would have no effect, if that is
    so."""
    if not delivery.is_internal:
        return None
    rows = TaskDelivery.objects.select_related("task__caller", "task__context")
    task_delivery = rows.filter(pk=delivery.pk).first()
    if task_delivery is None:
        return None
    context = {"task": task_delivery.task, "hint": _hint(delivery, task_delivery)}
    return Panel("relay/tasks/_delivery.html", context)


def answer_status(response: Response) -> str:
    """Returns the progress of a released answer. The answer has already moved the task. Only the
    agent's connector may still have to fetch the run."""
    if response.delivery.type != Delivery.Type.QUESTION:
        return "Saved with the task, which needed no answer."
    if response.status == Response.Status.REJECTED:
        return "The task has ended. Its caller sees that it was declined, not what you wrote."
    return "Waiting for the connector."


def of_agents(agents: Collection[Agent], *, at: datetime) -> dict[UUID, str]:
    """Returns how many connectors of each published agent are online."""
    published = Card.objects.published().filter(agent__in=agents).values_list("agent_id", flat=True)
    online = presence.count_online(published, at=at)
    return {pk: _connectors(online.get(pk, 0)) for pk in published}


def _connectors(number: int) -> str:
    if not number:
        return "no connector online"
    return "1 connector online" if number == 1 else f"{number} connectors online"


def _hint(delivery: Delivery, task_delivery: TaskDelivery) -> str:
    if delivery.withdrawn_at is None:
        is_asking = delivery.type == Delivery.Type.QUESTION or delivery.answered_at is not None
        return "" if is_asking else NOT_ASKED
    if task_delivery.task.state == Task.State.CANCELED:
        return CANCELED
    return ENDED if task_delivery.task.is_terminal else CONTINUED
