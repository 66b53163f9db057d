"""Takes back the runs of machines that were not heard of again, and gives up what no machine came
for."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from accounts.audit import SYSTEM
from relay import moves
from relay.dispatches import ATTEMPTS_AT_MOST
from relay.models import Dispatch, DispatchQuerySet, Message, Task
from wake.connections import DATABASE_AWAY

log = logging.getLogger(__name__)

WAITS_AT_MOST = timedelta(days=7)
AT_ONCE = 200
STOPPED = (
    f"The agent was offline: its machine was not heard of again, {ATTEMPTS_AT_MOST} times in a row."
)
TOO_LONG = f"The agent took too long, {ATTEMPTS_AT_MOST} times in a row."
NOBODY_CAME = f"The agent was offline for {WAITS_AT_MOST.days} days."


def expire_leases(*, at: datetime) -> int:
    """Each run goes back to the head of the queue, at the third time its task fails; returns how
    many."""
    return each(_take_back, _first(Dispatch.objects.lapsed(at)), at=at)


def give_up_old(*, at: datetime) -> int:
    """The tasks of what has waited for a week fail; returns how many."""
    old = Dispatch.objects.given_up(at - WAITS_AT_MOST)
    return each(_give_up, _first(old), at=at)


def each(
    work: Callable[..., bool], rows: list[tuple[uuid.UUID, uuid.UUID]], *, at: datetime
) -> int:
    """How many were done. One that cannot be (no key opens it any more) holds no other back."""
    done = 0
    for row in rows:
        try:
            done += work(*row, at=at)
        except DATABASE_AWAY:
            raise
        except Exception:
            log.exception("Task %s cannot be moved", row[1])
    return done


def _first(runs: DispatchQuerySet) -> list[tuple[uuid.UUID, uuid.UUID]]:
    return list(runs.order_by("created_at").values_list("pk", "task_id")[:AT_ONCE])


@transaction.atomic
def _take_back(pk: uuid.UUID, task_id: uuid.UUID, *, at: datetime) -> bool:
    task = moves.lock(task_id)
    run = Dispatch.objects.lapsed(at).filter(pk=pk).first()
    if run is None:  # it was heard of after all
        return False
    if task.is_terminal or run.attempts >= ATTEMPTS_AT_MOST:
        run.state, run.finished_at = Dispatch.State.EXPIRED, at
        run.save(update_fields=["state", "finished_at"])
        if not task.is_terminal:
            was_heard_of = run.leased_until is not None and run.leased_until > at
            _fail(task, TOO_LONG if was_heard_of else STOPPED, at=at)
        return True
    # It keeps its lease: whoever had it may come back before another takes it (dispatches.resume).
    run.state = Dispatch.State.QUEUED
    run.save(update_fields=["state"])
    if task.state == Task.State.WORKING:
        moves.transition(task.pk, Task.State.SUBMITTED, by=SYSTEM, at=at)
    return True


@transaction.atomic
def _give_up(pk: uuid.UUID, task_id: uuid.UUID, *, at: datetime) -> bool:
    task = moves.lock(task_id)
    run = Dispatch.objects.given_up(at - WAITS_AT_MOST).filter(pk=pk)
    if not run.exists():
        return False
    if task.is_terminal:
        run.update(state=Dispatch.State.EXPIRED, finished_at=at)
        return True
    _fail(task, NOBODY_CAME, at=at)
    return True


def _fail(task: Task, why: str, *, at: datetime) -> None:
    message = moves.say(task, Message.Source.RELAY, [{"text": why}], at=at)
    moves.transition(task.pk, Task.State.FAILED, message=message, by=SYSTEM, at=at)
