"""The queue of runs: a row for each, leased to one connector at a time."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice

from django.db import transaction
from django.db.models import Count, Exists, Q

from accounts.encryption import Unreadable
from accounts.models import Agent
from relay.history import newest
from relay.models import Card, Connector, Dispatch, Message, Task
from relay.wire import Json
from wake.pickups import picked_up_by_machine

State = Dispatch.State
log = logging.getLogger(__name__)

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


def lease(connector: Connector, *, at: datetime) -> list[Dispatch]:
    """The oldest that wait and can be read, as many as this connector and its agent have room for;
    each counts as an attempt from now on."""
    # Who has no room looks twice a second: it must not stand in the way of whoever moves a task.
    return _lease(connector, at=at) if _room(connector) else []


@transaction.atomic
def _lease(connector: Connector, *, at: datetime) -> list[Dispatch]:
    """The agent is locked meanwhile, so no two connectors get the same one, and all of them
    together never too many."""
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    # Asked again now that the agent is held: what goes to nobody is lost for as long as a lease.
    room = _room(connector)
    rows = Dispatch.objects.queued(agent).select_related("task__context", "message")
    found = list(islice(filter(_is_readable, rows.iterator(chunk_size=10)), room))
    for dispatch in found:
        dispatch.state, dispatch.connector = State.LEASED, connector
        dispatch.lease, dispatch.leased_until = uuid.uuid4(), at + LEASE
        dispatch.attempts += 1
        dispatch.progress, dispatch.started_at = 0, None
    changed = ["state", "connector", "lease", "leased_until", "attempts", "progress", "started_at"]
    Dispatch.objects.bulk_update(found, changed)
    if answers := [run.decision["delivery_id"] for run in found if run.decision]:
        picked_up_by_machine(answers, at=at)
    return found


def _room(connector: Connector) -> int:
    """For how many runs more; for none where its connection is over or it takes no more, or its
    agent is paused."""
    here = Connector.objects.filter(
        pk=connector.pk,
        connection_id=connector.connection_id,
        left_at__isnull=True,
        draining_at__isnull=True,
    )
    cards = Card.objects.filter(agent=connector.agent_id, agent__paused_at__isnull=True)
    card = cards.filter(Exists(here)).first()
    if card is None:
        return 0
    running = Dispatch.objects.running(connector.agent)
    found = running.aggregate(all=Count("pk"), here=Count("pk", filter=Q(connector=connector)))
    room: int = min(connector.capacity - found["here"], card.max_concurrency - found["all"])
    return max(0, room)


def _is_readable(run: Dispatch) -> bool:
    """Whether all that its machine is told can be read. What cannot waits on, since its key may
    only be missing here, and holds nothing back that can."""
    try:
        _texts_of(run)
    except Unreadable:
        _say_unreadable(run.pk)
        return False
    return True


def _texts_of(run: Dispatch) -> list[str]:
    """Its own first, for which nothing more is asked; raises Unreadable."""
    texts = [run.decision_json, run.message.parts_json, run.message.metadata_json]
    for message in newest([run.task])[run.task_id]:
        texts += [message.parts_json, message.metadata_json]
    return texts


@lru_cache(maxsize=1_000)
def _say_unreadable(run_id: uuid.UUID) -> None:
    """Once, although it is looked at twice a second."""
    log.error("The run %s waits: WAKE_ENCRYPTION_KEYS lacks the key of a row", run_id)


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


def hold(connector: Connector, *, at: datetime) -> int:
    """What it has begun stays its own for another while; returns how many were about to lapse."""
    begun = Dispatch.objects.begun_by(connector).ending(at)
    return begun.update(leased_until=at + LEASE)


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
