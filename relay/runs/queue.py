"""Queues runs, a row for each, and leases each to one connector at a time."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import lru_cache

from django.db import transaction
from django.db.models import Count, Exists, Q

from accounts.agents.topics import topic_of
from accounts.models import Agent
from database.encryption import Unreadable
from database.notifications import notify, notify_soon
from relay.content.history import newest
from relay.models import Card, Connector, Message, Run, Task
from relay.protocol.dialects import Json
from wake.pickups import mark_internal_picked_up

State = Run.State
log = logging.getLogger(__name__)

# A connector sends one every HEARTBEAT; three of them may be lost.
HEARTBEAT = timedelta(seconds=15)
LEASE = timedelta(seconds=60)
ATTEMPTS_AT_MOST = 3
# What changes in the row of a run when it is leased.
LEASED = [
    *("state", "connector", "lease", "leased_until", "attempts"),
    *("progress", "refused_from", "started_at"),
]
QUEUE_AT_MOST = 500
# How many of those may come from anonymous callers, and from one network of theirs. The rest is for
# callers with a key, and no network takes the place of all others.
OF_ANONYMOUS_AT_MOST, OF_A_NETWORK_AT_MOST = 400, 100
# How many runs are read at a time, each with its message, to find those that can be leased.
READ_AT_ONCE = 10
# Messages that start a task do not wait for each other, so they do not count each other
# (relay/tasks/storing.py). PostgreSQL takes 100 connections, unless more are configured.
UNDER_WAY_AT_MOST = 100


class LeaseLost(Exception):
    """This run no longer belongs to this connector."""


def enqueue(task: Task, message: Message, *, at: datetime, decision: Json | None = None) -> Run:
    """Queues one more run of the agent's command for this task, which the transaction has
    locked."""
    run = new_run(task, message, at=at, decision=decision)
    run.save(force_insert=True)
    wake_connectors(task)
    return run


def wake_connectors(task: Task) -> None:
    """Wakes the connectors of the task's agent, once the transaction has committed."""
    notify(topic_of(task.agent_id))


def wake_connectors_soon(task: Task) -> None:
    """Wakes the connectors of the task's agent, in other processes a moment later if many tasks
    come at once."""
    notify_soon(topic_of(task.agent_id))


def new_run(task: Task, message: Message, *, at: datetime, decision: Json | None = None) -> Run:
    """Returns a run for the caller to store, who then wakes the connectors."""
    return Run(
        agent=task.agent,
        task=task,
        message=message,
        decision_json=json.dumps(decision, ensure_ascii=False) if decision else "",
        created_at=at,
    )


def has_room(agent: Agent) -> bool:
    """Returns whether one more run may wait for this agent, which the transaction has locked."""
    if _queued(agent) >= exact_count_from():
        wait_for_messages(agent)
        return _queued(agent) < QUEUE_AT_MOST
    return True


def has_room_for_anonymous(agent: Agent, *, network: str) -> bool:
    """Returns whether one more run of an anonymous caller may wait for this agent, which the
    transaction has locked. Their runs are counted together, and by the network that they came
    from."""
    anonymous = Run.objects.queued(agent).order_by().filter(task__caller=None)
    of_network = Count("pk", filter=Q(task__network=network))
    counts = anonymous.aggregate(all=Count("pk"), network=of_network)
    return bool(counts["all"] < OF_ANONYMOUS_AT_MOST and counts["network"] < OF_A_NETWORK_AT_MOST)


def exact_count_from() -> int:
    """Returns how many queued runs make an exact count necessary: with fewer, there is room for all
    messages that are under way."""
    return max(0, QUEUE_AT_MOST - UNDER_WAY_AT_MOST)


def wait_for_messages(agent: Agent) -> None:
    """Locks the agent against messages that store new tasks, so that their runs can be counted
    exactly from now on."""
    Agent.objects.select_for_update().only("pk").get(pk=agent.pk)


def _queued(agent: Agent) -> int:
    return Run.objects.queued(agent).order_by()[:QUEUE_AT_MOST].count()


def lease(connector: Connector, *, at: datetime) -> list[Run]:
    """Leases the oldest readable runs, as many as this connector and its agent have room for. Each
    lease counts as an attempt."""
    # Transitions of tasks wait for the agent's lock. So it is not taken for a connector without
    # room, which asks often, nor while many runs are decrypted.
    leased: list[Run] = []
    while room := _room(connector):
        ids = _oldest_readable(connector.agent, room)
        leased += (batch := _lease(connector, ids, at=at) if ids else [])
        if len(batch) == len(ids):
            break
        # Other connectors took some of these runs first. Try again: there may be more.
    return leased


def _oldest_readable(agent: Agent, room: int) -> list[uuid.UUID]:
    """Returns the ids of the oldest ready runs that can be decrypted, as many as there is room for.

    Reads a few runs at a time: a cursor over all would make PostgreSQL write the content of the
    whole queue to a temporary file. No run is read twice."""
    ready = Run.objects.ready(agent).select_related("task__context", "message")
    readable: list[uuid.UUID] = []
    unreadable: list[uuid.UUID] = []
    while wanted := min(room - len(readable), READ_AT_ONCE):
        runs = list(ready.exclude(pk__in=[*readable, *unreadable])[:wanted])
        for run in runs:
            (readable if _is_readable(run) else unreadable).append(run.pk)
        if len(runs) < wanted:
            break
    return readable


@transaction.atomic
def _lease(connector: Connector, ids: Collection[uuid.UUID], *, at: datetime) -> list[Run]:
    """Leases those of the runs that are still ready. Locks the agent, so that no two connectors get
    the same run, and all of them together never too many."""
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    # Asked again under the lock: a run that a closed connection leases waits until the lease ends.
    room = _room(connector)
    rows = Run.objects.ready(agent).filter(pk__in=ids)
    leased = list(rows.select_related("task__context", "task__caller", "message")[:room])
    for run in leased:
        run.state, run.connector = State.LEASED, connector
        run.lease, run.leased_until = uuid.uuid4(), at + LEASE
        run.attempts += 1
        run.progress, run.refused_from, run.started_at = 0, None, None
    Run.objects.bulk_update(leased, LEASED)
    if answers := [run.decision["delivery_id"] for run in leased if run.decision]:
        mark_internal_picked_up(answers, at=at)
    return leased


def _room(connector: Connector) -> int:
    """Returns how many more runs this connector may have: none if its connection has ended, if it
    drains, or if its agent is paused."""
    open_connection = Connector.objects.filter(
        pk=connector.pk,
        connection_id=connector.connection_id,
        left_at__isnull=True,
        draining_at__isnull=True,
    )
    cards = Card.objects.filter(agent=connector.agent_id, agent__paused_at__isnull=True)
    card = cards.filter(Exists(open_connection)).first()
    if card is None:
        return 0
    running = Run.objects.running(connector.agent)
    counts = running.aggregate(all=Count("pk"), own=Count("pk", filter=Q(connector=connector)))
    room: int = min(connector.capacity - counts["own"], card.max_concurrency - counts["all"])
    return max(0, room)


def _is_readable(run: Run) -> bool:
    """Returns whether everything that the connector needs for a run can be decrypted. If not, the
    run waits, because the key may be missing on this server only. Other runs do not wait for it."""
    try:
        _texts_of(run)
    except Unreadable:
        _say_unreadable(run.pk)
        return False
    return True


def _texts_of(run: Run) -> list[str]:
    """Decrypts the texts of a run, its own first because these need no query; raises Unreadable."""
    texts = [run.decision_json, run.message.parts_json, run.message.metadata_json]
    for message in history_of(run):
        texts += [message.parts_json, message.metadata_json]
    return texts


def history_of(run: Run) -> list[Message]:
    """Returns the turns that a run is given, oldest first. A message that a later run of the task
    will answer is not among them."""
    later = Run.objects.filter(task=run.task_id).behind_another()
    without = list(later.values_list("message_id", flat=True))
    return newest([run.task], without=without)[run.task_id]


def drop_queued(task: Task, *, at: datetime) -> None:
    """Gives up the queued runs of a task. The next run reads their messages in its history."""
    queued = Run.objects.filter(task=task, state=State.QUEUED)
    queued.update(state=State.EXPIRED, finished_at=at)


@lru_cache(maxsize=1_000)
def _say_unreadable(run_id: uuid.UUID) -> None:
    """Logs a run only once, although it is looked at often."""
    log.error("The run %s waits: WAKE_ENCRYPTION_KEYS lacks the key of a row", run_id)


def leased_run(run: Run, lease: uuid.UUID) -> Run:
    """Returns the run as it is now, if this lease is its current one; raises LeaseLost. The task is
    locked (relay/tasks/transitions.py)."""
    current = Run.objects.on_lease().filter(pk=run.pk, lease=lease).first()
    if current is None:
        raise LeaseLost(LeaseLost.__doc__)
    return current


def extend_named(connector: Connector, ids: Collection[uuid.UUID], *, at: datetime) -> int:
    """Extends the leases of these runs that this connector still has; returns how many."""
    leased = Run.objects.on_lease().filter(connector=connector, pk__in=ids)
    return leased.update(leased_until=at + LEASE)


def extend_begun(connector: Connector, *, at: datetime) -> int:
    """Extends the leases, if they are about to end, of the runs that this connector has begun;
    returns how many."""
    begun_runs = Run.objects.begun_by(connector).ending(at)
    return begun_runs.update(leased_until=at + LEASE)


@transaction.atomic
def resume(
    connector: Connector,
    ids: Collection[uuid.UUID],
    leases: Collection[uuid.UUID] = (),
    *,
    at: datetime,
) -> list[Run]:
    """Continues the runs of a connector after it has connected again.

    The connector keeps the runs that it names, unless another connector has got them since. Runs
    that were leased to it and that it does not name never arrived, and go back to the queue. After
    the third attempt a run stays leased instead, so that its task fails when the lease ends: the
    run may be what crashes the connector.

    `leases` are those under which it has the runs. Without them, a run that another online
    connector has stays with that one.

    Returns the runs whose lease had ended meanwhile and that no other connector took; their leases
    are renewed. After a relay was away for longer than a lease, all runs are of this kind.
    """
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    named = Run.objects.filter(agent=agent, pk__in=ids, lease__isnull=False)
    others = Connector.objects.filter(agent=agent).online(at).exclude(pk=connector.pk)
    named = named.filter(lease__in=leases) if leases else named.exclude(connector__in=others)
    continued = Run.objects.filter(pk__in=list(named.values_list("pk", flat=True)))
    lost = Run.objects.running(agent).filter(
        connector=connector, state=State.LEASED, attempts__lt=ATTEMPTS_AT_MOST
    )
    lost = lost.exclude(pk__in=continued)
    lost.filter(cancel_asked_at__isnull=False).update(state=State.EXPIRED, finished_at=at)
    lost.filter(cancel_asked_at__isnull=True).update(
        state=State.QUEUED, lease=None, leased_until=None
    )
    renewed = list(continued.filter(state=State.QUEUED))
    continued.filter(state=State.QUEUED).update(state=State.LEASED)
    continued.on_lease().update(connector=connector, leased_until=at + LEASE, cancel_told_at=None)
    return renewed


def stop_all(task: Task, *, at: datetime) -> None:
    """Gives up the queued runs of a task that has ended, and asks connectors to stop those that
    run."""
    drop_queued(task, at=at)
    Run.objects.filter(task=task).on_lease().filter(cancel_asked_at__isnull=True).update(
        cancel_asked_at=at
    )
