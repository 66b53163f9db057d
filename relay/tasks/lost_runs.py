"""Queues runs again if their connector stopped responding, and fails the tasks of runs that no
connector has leased."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial

from accounts.agents.topics import topic_of
from accounts.audit import SYSTEM
from database.notifications import notify
from database.sweeps import sweep
from relay.models import Connector, Message, Run, RunQuerySet, Task
from relay.runs.queue import MAX_ATTEMPTS
from relay.tasks import transitions

LONGEST_WAIT = timedelta(days=7)
AT_ONCE = 200
STOPPED = f"The agent was offline: its connector stopped responding {MAX_ATTEMPTS} times in a row."
TOO_LONG = f"The agent took too long, {MAX_ATTEMPTS} times in a row."
NEVER_FETCHED = f"The agent was offline for {LONGEST_WAIT.days} days."


def expire_leases(*, at: datetime) -> int:
    """Puts each run whose lease has ended back at the head of the queue. After the third attempt,
    fails the run's task instead. Returns how many runs there were."""
    return _sweep(Run.objects.lapsed(at), partial(_take_back, at=at))


def take_back_of(connector: Connector, *, but: Collection[uuid.UUID], at: datetime) -> None:
    """Takes back the runs that an earlier process of this connector had begun. The earlier process
    has ended, because only one process at a time can use the journal."""
    for run in Run.objects.begun_by(connector).exclude(pk__in=but).order_by("created_at"):
        _take_back(run, at=at)


def give_up_old(*, at: datetime) -> int:
    """Fails the tasks of runs that have waited for a week; returns how many."""
    return _sweep(Run.objects.given_up(at - LONGEST_WAIT), partial(_give_up, at=at))


def _sweep(runs: RunQuerySet, work: Callable[[Run], bool]) -> int:
    """Processes runs one by one. Locks the agent and the task before the run, because a change of
    the run locks them as well."""
    rows = runs.select_related("task", "agent").order_by("created_at")
    return sweep(rows, work, what="runs", at_once=AT_ONCE, locks=("agent", "task", "self"))


def _take_back(run: Run, *, at: datetime) -> bool:
    task = transitions.lock(run.task_id)
    if task.is_terminal or run.attempts >= MAX_ATTEMPTS:
        run.state, run.finished_at = Run.State.EXPIRED, at
        run.save(update_fields=["state", "finished_at"])
        if not task.is_terminal:
            is_still_leased = run.leased_until is not None and run.leased_until > at
            _fail(task, TOO_LONG if is_still_leased else STOPPED, at=at)
        return True
    # The run keeps its lease, because its connector may come back before another connector takes
    # the run (queue.resume).
    run.state = Run.State.QUEUED
    run.save(update_fields=["state"])
    notify(topic_of(task.agent_id))
    if task.state == Task.State.WORKING:
        transitions.transition(task.pk, Task.State.SUBMITTED, by=SYSTEM, at=at)
    return True


def _give_up(run: Run, *, at: datetime) -> bool:
    task = transitions.lock(run.task_id)
    if task.is_terminal:
        run.state, run.finished_at = Run.State.EXPIRED, at
        run.save(update_fields=["state", "finished_at"])
        return True
    _fail(task, NEVER_FETCHED, at=at)
    return True


def _fail(task: Task, why: str, *, at: datetime) -> None:
    message = transitions.add_message(task, Message.Source.RELAY, [{"text": why}], at=at)
    transitions.transition(task.pk, Task.State.FAILED, message=message, by=SYSTEM, at=at)
