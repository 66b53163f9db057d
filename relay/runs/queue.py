"""Queues runs as rows, and leases each run to one connector at a time."""

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

# A connector sends a heartbeat this often. A lease survives the loss of three heartbeats.
HEARTBEAT = timedelta(seconds=15)
LEASE = timedelta(seconds=60)
MAX_ATTEMPTS = 3
# Leasing a run changes these columns of its row.
LEASED = [
    *("state", "connector", "lease", "leased_until", "attempts"),
    *("progress", "refused_from", "started_at"),
]
MAX_QUEUE = 500
# How many queued runs may come from anonymous callers, and how many from one network. So callers
# with a key always find room, and no single network can take all places.
MAX_OF_ANONYMOUS, MAX_OF_A_NETWORK = 400, 100
# How many runs are read at a time, each with its message, to find runs that can be leased.
READ_AT_ONCE = 10
# How many messages may be stored at the same time. Messages that start a task do not wait for each
# other, so none of them counts the others (relay/tasks/storing.py). Each message needs a
# connection, and PostgreSQL takes 100 connections unless more are configured.
MAX_UNDER_WAY = 100


class LeaseLost(Exception):
    """This run no longer belongs to this connector."""


def enqueue(task: Task, message: Message, *, at: datetime, decision: Json | None = None) -> Run:
    """Queues another run of the agent's command for this task, which the transaction has locked."""
    run = new_run(task, message, at=at, decision=decision)
    run.save(force_insert=True)
    wake_connectors(task)
    return run


def wake_connectors(task: Task) -> None:
    """Wakes the connectors of the task's agent, once the transaction has committed."""
    notify(topic_of(task.agent_id))


def wake_connectors_soon(task: Task) -> None:
    """Wakes the connectors of the task's agent. If many tasks come together, connectors of other
    processes wake a moment later."""
    notify_soon(topic_of(task.agent_id))


def new_run(task: Task, message: Message, *, at: datetime, decision: Json | None = None) -> Run:
    """Returns a run. The caller stores the run, and then wakes the connectors."""
    return Run(
        agent=task.agent,
        task=task,
        message=message,
        decision_json=json.dumps(decision, ensure_ascii=False) if decision else "",
        created_at=at,
    )


def has_room(agent: Agent) -> bool:
    """Returns whether another run may wait for this agent, which the transaction has locked."""
    if _queued(agent) >= exact_count_from():
        wait_for_messages(agent)
        return _queued(agent) < MAX_QUEUE
    return True


def has_room_for_anonymous(agent: Agent, *, network: str) -> bool:
    """Returns whether another run of an anonymous caller may wait for this agent, which the
    transaction has locked. Runs of anonymous callers are counted together, and by network."""
    anonymous = Run.objects.queued(agent).order_by().filter(task__caller=None)
    of_network = Count("pk", filter=Q(task__network=network))
    counts = anonymous.aggregate(all=Count("pk"), network=of_network)
    return bool(counts["all"] < MAX_OF_ANONYMOUS and counts["network"] < MAX_OF_A_NETWORK)


def exact_count_from() -> int:
    """Returns the number of queued runs from which an exact count is necessary. Below that number,
    there is room for all messages that are being stored."""
    return max(0, MAX_QUEUE - MAX_UNDER_WAY)


def wait_for_messages(agent: Agent) -> None:
    """Locks the agent against messages that store new tasks, so that their runs can be counted
    exactly."""
    Agent.objects.select_for_update().only("pk").get(pk=agent.pk)


def _queued(agent: Agent) -> int:
    return Run.objects.queued(agent).order_by()[:MAX_QUEUE].count()


def lease(connector: Connector, *, at: datetime) -> list[Run]:
    """Leases the oldest readable runs, as many as this connector and its agent have room for. Each
    lease counts as an attempt."""
    # Transitions of tasks wait for the agent's lock. A connector without room asks often, so the
    # lock is not taken for it. The lock is also not held while many runs are decrypted.
    leased: list[Run] = []
    while room := _room(connector):
        ids = _oldest_readable(connector.agent, room)
        leased += (batch := _lease(connector, ids, at=at) if ids else [])
        if len(batch) == len(ids):
            break
        # Other connectors leased some of these runs first. Try again, because more runs may be
        # waiting.
    return leased


def _oldest_readable(agent: Agent, room: int) -> list[uuid.UUID]:
    """Returns the ids of the oldest ready runs that can be decrypted, as many as there is room for.

    Reads a few runs at a time, because a cursor over all runs would make PostgreSQL write the
    content of the whole queue to a temporary file. No run is read twice."""
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
    """Leases those runs that are still ready. Locks the agent, so that no two connectors get the
    same run, and that all connectors together never have too many runs."""
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    # The room is checked again under the lock. A run leased by a closed connection stays leased
    # until its lease ends.
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
    """Returns how many further runs this connector may have. The connector may have none if its
    connection has ended, if it is draining, or if its agent is paused."""
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
    """Returns whether everything that the connector needs for a run can be decrypted. Otherwise the
    run waits, because the key may be missing on this server only. Other runs do not wait for an
    unreadable run."""
    try:
        _texts_of(run)
    except Unreadable:
        _say_unreadable(run.pk)
        return False
    return True


def _texts_of(run: Run) -> list[str]:
    """Decrypts the texts of a run; raises Unreadable. The run's own texts come first, because they
    need no query."""
    texts = [run.decision_json]
    for message in [run.message, *history_of(run)]:
        texts += [message.parts_json, message.metadata_json, message.request_metadata_json]
    return texts


def history_of(run: Run) -> list[Message]:
    """Returns the turns for a run, oldest first. Leaves out messages that a later run of the task
    will answer."""
    later = Run.objects.filter(task=run.task_id).behind_another()
    without = list(later.values_list("message_id", flat=True))
    return newest([run.task], without=without)[run.task_id]


def drop_queued(task: Task, *, at: datetime) -> None:
    """Gives up the queued runs of a task. The task's next run finds the messages of these runs in
    its history."""
    queued = Run.objects.filter(task=task, state=State.QUEUED)
    queued.update(state=State.EXPIRED, finished_at=at)


@lru_cache(maxsize=1_000)
def _say_unreadable(run_id: uuid.UUID) -> None:
    """Logs a run only once, although it is checked often."""
    log.error("The run %s waits: WAKE_ENCRYPTION_KEYS lacks the key of a row", run_id)


def leased_run(run: Run, lease: uuid.UUID) -> Run:
    """Returns the present row of a run if this lease is its current lease; raises LeaseLost. The
    task is locked (relay/tasks/transitions.py)."""
    current = Run.objects.on_lease().filter(pk=run.pk, lease=lease).first()
    if current is None:
        raise LeaseLost(LeaseLost.__doc__)
    return current


def extend_named(connector: Connector, ids: Collection[uuid.UUID], *, at: datetime) -> int:
    """Extends the leases of those runs that this connector still has. Returns how many leases it
    extended."""
    leased = Run.objects.on_lease().filter(connector=connector, pk__in=ids)
    return leased.update(leased_until=at + LEASE)


def extend_begun(connector: Connector, *, at: datetime) -> int:
    """Extends the leases of runs that this connector has begun, if the leases are about to end.
    Returns how many leases it extended."""
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
    """Continues the runs of a connector that has connected again.

    The connector keeps the runs that it names, unless another connector has leased these runs
    since. If the connector does not name a run that was leased to it, the run never arrived, and
    goes back to the queue. After the third attempt a run stays leased instead, so that its task
    fails when the lease ends: the run may be the cause of the connector's crashes.

    `leases` are the leases under which this connector has the runs. Without `leases`, other online
    connectors keep their runs.

    Renews the leases that had ended meanwhile, if no other connector took the run, and returns
    these runs. If the relay was away for longer than a lease, these are all runs.
    """
    agent = Agent.objects.select_for_update(no_key=True).get(pk=connector.agent_id)
    named = Run.objects.filter(agent=agent, pk__in=ids, lease__isnull=False)
    others = Connector.objects.filter(agent=agent).online(at).exclude(pk=connector.pk)
    named = named.filter(lease__in=leases) if leases else named.exclude(connector__in=others)
    continued = Run.objects.filter(pk__in=list(named.values_list("pk", flat=True)))
    lost = Run.objects.running(agent).filter(
        connector=connector, state=State.LEASED, attempts__lt=MAX_ATTEMPTS
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
    """Gives up the queued runs of an ended task, and asks connectors to stop the runs that are
    executing."""
    drop_queued(task, at=at)
    Run.objects.filter(task=task).on_lease().filter(cancel_asked_at__isnull=True).update(
        cancel_asked_at=at
    )
