"""The queue of runs: a row for each, leased to one connector at a time."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Agent
from relay.models import Card, Connector, Dispatch, Message, Task
from relay.wire import Json
from wake.pickups import picked_up_by_machine

State = Dispatch.State

# A connector gives a sign every HEARTBEAT; three of them may be lost.
HEARTBEAT = timedelta(seconds=15)
LEASE = timedelta(seconds=60)
ATTEMPTS_AT_MOST = 3
QUEUE_AT_MOST = 500
# Of those, for callers without a key: all of them, and those of one network. Strangers can shut an
# agent neither for its team's callers nor, from one place, for each other.
OF_STRANGERS_AT_MOST, OF_A_NETWORK_AT_MOST = 400, 100


class LeaseLost(Exception):
    """This run is not this connector's any more."""


def enqueue(
    task: Task, message: Message, *, at: datetime, decision: Json | None = None
) -> Dispatch:
    """One more run of the agent's command for this task; the caller of this holds its lock."""
    return Dispatch.objects.create(
        agent=task.agent,
        task=task,
        message=message,
        decision_json=json.dumps(decision, ensure_ascii=False) if decision else "",
        created_at=at,
    )


def has_room(agent: Agent, *, stranger: bool, network: str = "") -> bool:
    """Whether one more task may wait for this agent; of strangers, who have no key, by the network
    that they call from."""
    waiting = Dispatch.objects.queued(agent)
    if not stranger:
        return waiting.count() < QUEUE_AT_MOST
    theirs = waiting.filter(task__caller=None)
    return (
        waiting.count() < QUEUE_AT_MOST
        and theirs.count() < OF_STRANGERS_AT_MOST
        and theirs.filter(task__network=network).count() < OF_A_NETWORK_AT_MOST
    )


@transaction.atomic
def lease(connector: Connector, *, at: datetime) -> list[Dispatch]:
    """The oldest that wait, as many as this connector and its agent have room for; each counts as
    an attempt from now on. The agent is locked meanwhile, so no two connectors get the same one,
    and all of them together never too many."""
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    card = Card.objects.filter(agent=agent).first()
    here = Connector.objects.filter(
        pk=connector.pk,
        connection_id=connector.connection_id,
        left_at__isnull=True,
        draining_at__isnull=True,
    )
    # Asked again now that the agent is held: what goes to nobody is lost for as long as a lease.
    if agent.paused_at is not None or card is None or not here.exists():
        return []
    running = Dispatch.objects.running(agent)
    room = min(
        connector.capacity - running.filter(connector=connector).count(),
        card.max_concurrency - running.count(),
    )
    rows = Dispatch.objects.queued(agent).select_related("task__context", "message")
    found = list(rows[: max(0, room)])
    for dispatch in found:
        dispatch.state, dispatch.connector = State.LEASED, connector
        dispatch.lease, dispatch.leased_until = uuid.uuid4(), at + LEASE
        dispatch.attempts += 1
        dispatch.progress = 0
    Dispatch.objects.bulk_update(
        found, ["state", "connector", "lease", "leased_until", "attempts", "progress"]
    )
    if answers := [run.decision["delivery_id"] for run in found if run.decision]:
        picked_up_by_machine(answers, at=at)
    return found


def held(dispatch: Dispatch, lease: uuid.UUID) -> Dispatch:
    """The run as it is now, where this lease is the one it is on; raises LeaseLost. Whoever calls
    has locked the task (relay/moves.py)."""
    found = Dispatch.objects.on_lease().filter(pk=dispatch.pk, lease=lease).first()
    if found is None:
        raise LeaseLost(LeaseLost.__doc__)
    return found


def renew(connector: Connector, ids: Collection[uuid.UUID], *, at: datetime) -> int:
    """Its leases last from now; returns how many of them it still had."""
    mine = Dispatch.objects.on_lease().filter(connector=connector, pk__in=ids)
    return mine.update(leased_until=at + LEASE)


@transaction.atomic
def resume(
    connector: Connector,
    ids: Collection[uuid.UUID],
    leases: Collection[uuid.UUID] = (),
    *,
    at: datetime,
) -> list[Dispatch]:
    """After a new connection: it goes on with the runs that it names and nobody else has been given
    since; and what was on its way to it and it does not name never arrived. The third time it stays
    on its lease, with which its task fails: it may be what the machine dies of.

    `leases` are those under which it has them. Without any, what another connector that is there
    has stays with that one.

    Returns those whose lease had lapsed meanwhile and whom nobody else took: the lease is good
    again. (A relay that was away for longer than a lease comes back to nothing but those.)
    """
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    named = Dispatch.objects.filter(agent=agent, pk__in=ids, lease__isnull=False)
    others = Connector.objects.filter(agent=agent).online(at).exclude(pk=connector.pk)
    named = named.filter(lease__in=leases) if leases else named.exclude(connector__in=others)
    still_its = Dispatch.objects.filter(pk__in=list(named.values_list("pk", flat=True)))
    lost = Dispatch.objects.running(agent).filter(
        connector=connector, state=State.LEASED, attempts__lt=ATTEMPTS_AT_MOST
    )
    lost = lost.exclude(pk__in=still_its)
    lost.filter(cancel_asked_at__isnull=False).update(state=State.EXPIRED, finished_at=at)
    lost.filter(cancel_asked_at__isnull=True).update(
        state=State.QUEUED, lease=None, leased_until=None
    )
    again = list(still_its.filter(state=State.QUEUED))
    still_its.filter(state=State.QUEUED).update(state=State.LEASED)
    still_its.on_lease().update(connector=connector, leased_until=at + LEASE, cancel_told_at=None)
    return again


def stop_all(task: Task, *, at: datetime) -> None:
    """What waits is given up, and what runs is to be stopped: the task has ended."""
    mine = Dispatch.objects.filter(task=task)
    mine.filter(state=State.QUEUED).update(state=State.EXPIRED, finished_at=at)
    mine.on_lease().filter(cancel_asked_at__isnull=True).update(cancel_asked_at=at)
