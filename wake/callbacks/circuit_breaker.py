"""Stops sending to a host that fails, so that this host does not delay callbacks to other hosts.

After a few failures in a row, the host's callbacks wait. The longer the host has failed, the longer
its callbacks wait. Then one callback at a time tests whether the host works again. After five days
without a success the host is suspended until a person resumes it. No callback is dropped, and
agents can still fetch every answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from accounts.access.objects import NotAllowed, may_answer
from accounts.audit import SYSTEM, Actor, person, record
from accounts.models import User
from database.compiled_queries import CompiledQuery, list_parameter
from wake import signals
from wake.callbacks.http_client import HttpResult
from wake.callbacks.retries import ASKS_FOR_TIME, MAX_ATTEMPTS
from wake.models import Callback, CallbackAttempt, FailingTarget
from wake.models.callbacks import Target

log = logging.getLogger(__name__)

FAILURES = 5
SHORTEST, LONGEST = timedelta(seconds=10), timedelta(minutes=15)
SUSPEND_AFTER = timedelta(days=5)
ATTEMPT_TAKES = timedelta(minutes=1)  # no attempt takes longer
PROBES = 1


def failing(hosts: Iterable[str]) -> dict[Target, FailingTarget]:
    """Returns the failing targets of these hosts. The table is empty while no host fails."""
    rows: list[FailingTarget] = _of_hosts().objects(hosts=set(hosts))
    return {row.key: row for row in rows}


def host_limit(target: FailingTarget | None, *, most: int) -> int:
    """Returns how many callbacks may be sent to the target at a time."""
    return PROBES if target is not None and target.failures >= FAILURES else most


def hold_back(held_back: Mapping[FailingTarget, Sequence[UUID]], *, at: datetime) -> None:
    """Takes callbacks, by their ids, out of the queue until their target may be tried again. Skips
    callbacks that another sender has claimed since. Callbacks of a target that was resumed
    meanwhile stay in the queue. Otherwise they would be lost."""
    if not held_back:
        return
    due = Callback.objects.due(at).filter(pk__in=list(chain(*held_back.values())))
    locked = set(due.select_for_update(skip_locked=True).values_list("pk", flat=True))
    suspended: set[FailingTarget] = set()
    if any(target.suspended_at for target in held_back):
        # All suspended targets are locked, and always in the same order, because a claim calls this
        # function once for each page of the queue.
        suspended = set(FailingTarget.objects.suspended().select_for_update().order_by("pk"))
    for target, ids in held_back.items():
        if target.suspended_at is None or target in suspended:
            until = None if target.suspended_at else target.postponed_until
            Callback.objects.filter(pk__in=locked.intersection(ids)).update(due_at=until)


def record_outcomes(finished: Sequence[tuple[Callback, HttpResult]], *, at: datetime) -> None:
    """Records the outcomes for the targets, inside the transaction that settles the attempts."""
    rows = _locked(callback.host for callback, _ in finished)
    successful = {callback.target for callback, outcome in finished if outcome.arrived}
    failed = {
        key: outcome for callback, outcome in finished if (key := callback.target) not in successful
    }
    for key in sorted(successful & rows.keys()):
        _close(rows[key], by=SYSTEM, at=at)
    if new := sorted(failed.keys() - rows.keys()):
        FailingTarget.objects.bulk_create(
            [FailingTarget(**key._asdict(), failing_since=at) for key in new],
            ignore_conflicts=True,
        )
        rows |= _locked(key.host for key in new)
    targets = [target for key, target in rows.items() if key in failed]
    if not targets:
        return
    for target in targets:
        _fail(target, failed[target.key], at=at)
    changes = ["failing_since", "failures", "postponed_until", "suspended_at"]
    FailingTarget.objects.bulk_update(targets, changes)


@transaction.atomic
def requeue_orphans(*, at: datetime) -> int:
    """Makes callbacks due again if they are suspended although their target is not. Returns how
    many there were. There are none unless a row was edited by hand, a backup was combined from two
    others, or this module has a bug."""
    count = Callback.objects.orphaned().update(due_at=at)
    if count:
        log.warning("%s callbacks were suspended without a reason and are due again", count)
        signals.wake_worker_on_commit(Callback)
    return count


def reset(target: Target, *, at: datetime) -> None:
    """Forgets the failures of a target that a person tries again. resume() handles a suspended
    target."""
    rows = FailingTarget.objects.filter(**target._asdict(), suspended_at__isnull=True)
    rows.update(failing_since=at, failures=0, postponed_until=None)


@transaction.atomic
def resume(target: FailingTarget, *, by: User, at: datetime, address: str = "") -> int:
    """Sends the callbacks that a suspended target missed; returns how many. Raises NotAllowed."""
    if not may_answer(by, target.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    return _close(target, by=person(by, address), at=at)


def _locked(hosts: Iterable[str]) -> dict[Target, FailingTarget]:
    """Locks in a fixed order, so that two senders never deadlock."""
    rows: list[FailingTarget] = _of_hosts_locked().objects(hosts=set(hosts))
    return {row.key: row for row in rows}


@cache
def _of_hosts() -> CompiledQuery:
    hosts = list_parameter("hosts", FailingTarget, "host")
    return CompiledQuery(lambda: FailingTarget.objects.filter(host__one_of=hosts))


@cache
def _of_hosts_locked() -> CompiledQuery:
    hosts = list_parameter("hosts", FailingTarget, "host")
    locked = FailingTarget.objects.select_for_update().filter(host__one_of=hosts)
    return CompiledQuery(lambda: locked.order_by("pk"))


def _fail(target: FailingTarget, outcome: HttpResult, *, at: datetime) -> None:
    must_suspend = target.suspended_at is None and at - target.failing_since >= SUSPEND_AFTER
    if must_suspend and not _was_tried_lately(target, at=at):
        target.failing_since, target.failures, must_suspend = at, 0, False
    has_answered = outcome.status_code is not None and outcome.status_code < 500
    if has_answered and outcome.status_code not in ASKS_FOR_TIME:
        target.failures, target.postponed_until = 0, None  # the host answers, but refuses
    else:
        target.failures += 1
        if target.failures >= FAILURES:
            lasted = at - target.failing_since
            target.postponed_until = at + min(max(SHORTEST, lasted / 2), LONGEST)
    if must_suspend:
        target.suspended_at = at
        record("callbacks.rested", by=SYSTEM, of=target, team=target.team_id, at=at)


def _was_tried_lately(target: FailingTarget, *, at: datetime) -> bool:
    """Returns whether an earlier attempt was made within SUSPEND_AFTER. A failure long ago and a
    failure now are not five days without a success. Index: callbacks_not_delivered."""
    missing = Callback.objects.not_delivered().to(target.key)
    lately = (at - SUSPEND_AFTER, at - ATTEMPT_TAKES)
    return CallbackAttempt.objects.filter(callback__in=missing, started_at__range=lately).exists()


def _close(target: FailingTarget, *, by: Actor, at: datetime) -> int:
    """Ends the failure of a target. If it was suspended, the callbacks that waited or were given up
    meanwhile become due. Returns their number.

    The target is locked first, because a claim may be holding back more callbacks (hold_back).
    """
    missed = 0
    if not FailingTarget.objects.select_for_update().filter(pk=target.pk):
        return missed  # another process closed the failure
    if target.suspended_at is not None:
        missing = Callback.objects.not_delivered().to(target.key)
        rows = missing.filter(
            Q(given_up_at__isnull=True) | Q(tries__gte=MAX_ATTEMPTS),
            due_at__isnull=True,
            erased_at__isnull=True,
            # The first callback that failed may be older than the failure, because that callback
            # may have waited before.
            created_at__gte=target.failing_since - SUSPEND_AFTER,
        )
        missed = rows.update(due_at=at, tries=0, given_up_at=None)
        record("callbacks.resumed", by=by, of=target, team=target.team_id, at=at, missed=missed)
        signals.wake_worker_on_commit(Callback)
    target.delete()
    return missed
