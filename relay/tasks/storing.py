"""Defines the writes that store a new task, and their conditions."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import BooleanField, Exists, Q, Value

from accounts.models import Agent, AuditEvent, Team
from database.compiled_queries import parameter
from database.write_chains import Chain, Given, Lock, New
from relay.models import CallerKey, Card, Context, Event, Message, Run, Task

HAS_ROOM = "has_room"
MESSAGE = Given("message", "id")


@cache
def storing(*, room: int, is_cached: bool, has_context: bool) -> Chain:
    """Returns the chain of writes that inserts the task's context (unless the context exists), and
    then the task with its message, run, first event and audit event.

    The condition of the chain is `has_room`: fewer than `room` runs are queued. A cached card and
    caller add the conditions `card_as_read` and `caller_works`. The chain's lock of the agent
    excludes only an exact count (relay/runs/queue.py), so messages wait neither for each other nor
    for other commits of the agent.
    """
    queued = Run.objects.queued(parameter("agent", Agent, "id")).order_by()
    has_room = (
        ~Exists(queued[room - 1 : room])
        if room > 0
        else Value(value=False, output_field=BooleanField())
    )
    conditions: dict[str, Any] = {HAS_ROOM: has_room}
    if is_cached:
        conditions |= _as_cached()
    agents = Agent.objects.filter(pk=parameter("agent", Agent, "id"))
    agent = Lock("agent", agents, conditions=conditions, strength="KEY SHARE")
    return Chain(
        agent,
        *([] if has_context else [New("context", Context)]),
        New("task", Task),
        New("message", Message),
        New("run", Run, message_id=MESSAGE),
        New("event", Event),
        New("audit", AuditEvent),
    )


def values_of(card: Card, caller: CallerKey | None) -> dict[str, Any]:
    """Returns the values of the parameters that describe how card and caller were read."""
    return {
        "agent": card.agent_id,
        "agent_id": card.agent.agent_id,
        "slug": card.agent.team.slug,
        "updated_at": card.updated_at,
        "caller": caller.pk if caller else None,
    }


def _as_cached() -> dict[str, Any]:
    caller = CallerKey.objects.usable(parameter("at", CallerKey, "expires_at"))
    return {
        "card_as_read": Q(
            archived_at__isnull=True,
            agent_id=parameter("agent_id", Agent, "agent_id"),
            team__slug=parameter("slug", Team, "slug"),
            card__enabled=True,
            card__updated_at=parameter("updated_at", Card, "updated_at"),
        ),
        "caller_works": Exists(caller.filter(pk=parameter("caller", CallerKey, "id"))),
    }
