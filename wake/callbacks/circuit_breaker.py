"""Spares a host that does not take callbacks, and everybody who would wait behind it.

After a few failures in a row its callbacks wait, the longer the longer it has failed, and then one
at a time asks whether it is back. After five days without a success they rest until a person
resumes them. None is ever dropped, and an agent can fetch every answer meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from accounts.access import NotAllowed, may_answer
from accounts.audit import SYSTEM, Actor, person, record
from accounts.models import User
from wake import signals
from wake.destinations import Outcome
from wake.models import Callback, CallbackAttempt, FailingTarget
from wake.models.callbacks import Target
from wake.retries import ASKS_FOR_TIME, TRIES

log = logging.getLogger(__name__)

FAILURES = 5
SHORTEST, LONGEST = timedelta(seconds=10), timedelta(minutes=15)
REST_AFTER = timedelta(days=5)
AN_ATTEMPT = timedelta(minutes=1)  # more than it takes
PROBES = 1


def failing(hosts: Iterable[str]) -> dict[Target, FailingTarget]:
    """Those of these hosts; a query on a table that is empty while all is well."""
    rows = FailingTarget.objects.filter(host__in=set(hosts))
    return {row.key: row for row in rows}


def slots(target: FailingTarget | None, *, most: int) -> int:
    """How many callbacks may be on their way there at a time."""
    return PROBES if target is not None and target.failures >= FAILURES else most


def hold_back(held: Mapping[FailingTarget, Sequence[UUID]]) -> None:
    """Takes callbacks, by their ids, out of the queue until their target may be asked again. Those
    of a target that was resumed since it was looked at stay in: nobody would find them again."""
    rest: set[FailingTarget] = set()
    if any(target.rested_at for target in held):
        # All of them, in everybody's order: a claim comes here once for each page of the queue.
        rest = set(FailingTarget.objects.resting().select_for_update().order_by("pk"))
    for target, ids in held.items():
        if target.rested_at is None or target in rest:
            until = None if target.rested_at else target.postponed_until
            Callback.objects.filter(pk__in=ids).update(due_at=until)


def note(finished: Sequence[tuple[Callback, Outcome]], *, at: datetime) -> None:
    """Remembers how the hosts of these attempts fared; inside the transaction that settles them."""
    rows = _locked(callback.host for callback, _ in finished)
    took = {callback.target for callback, outcome in finished if outcome.arrived}
    refused = {
        key: outcome for callback, outcome in finished if (key := callback.target) not in took
    }
    for key in sorted(took & rows.keys()):
        _welcome_back(rows[key], by=SYSTEM, at=at)
    if new := sorted(refused.keys() - rows.keys()):
        FailingTarget.objects.bulk_create(
            [FailingTarget(**key._asdict(), failing_since=at) for key in new],
            ignore_conflicts=True,
        )
        rows |= _locked(key.host for key in new)
    targets = [target for key, target in rows.items() if key in refused]
    for target in targets:
        _fail(target, refused[target.key], at=at)
    changes = ["failing_since", "failures", "postponed_until", "rested_at"]
    FailingTarget.objects.bulk_update(targets, changes)


@transaction.atomic
def take_up_orphans(*, at: datetime) -> int:
    """Makes callbacks due that rest although their target does not; returns how many. There should
    be none: this is for a row edited by hand, a backup put together from two, or a mistake here."""
    found = Callback.objects.orphaned().update(due_at=at)
    if found:
        log.warning("%s callbacks rested without a reason and are due again", found)
        signals.ring_on_commit(Callback)
    return found


def begin_anew(target: Target, *, at: datetime) -> None:
    """A person thinks that it is back: its next attempts go as planned. One that rests is for
    resume()."""
    rows = FailingTarget.objects.filter(**target._asdict(), rested_at__isnull=True)
    rows.update(failing_since=at, failures=0, postponed_until=None)


@transaction.atomic
def resume(target: FailingTarget, *, by: User, at: datetime, address: str = "") -> int:
    """Sends at once what the target missed; returns how many that are. Raises NotAllowed."""
    if not may_answer(by, target.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    return _welcome_back(target, by=person(by, address), at=at)


def _locked(hosts: Iterable[str]) -> dict[Target, FailingTarget]:
    """In everybody's order, so that two senders never wait for each other."""
    rows = FailingTarget.objects.select_for_update().filter(host__in=set(hosts)).order_by("pk")
    return {row.key: row for row in rows}


def _fail(target: FailingTarget, outcome: Outcome, *, at: datetime) -> None:
    is_long = at - target.failing_since >= REST_AFTER
    if is_long and target.rested_at is None and not _was_asked_lately(target, at=at):
        target.failing_since, target.failures, is_long = at, 0, False
    answers = outcome.status_code is not None and outcome.status_code < 500
    if answers and outcome.status_code not in ASKS_FOR_TIME:
        target.failures, target.postponed_until = 0, None  # it refuses, but it is there
    else:
        target.failures += 1
        if target.failures >= FAILURES:
            lasted = at - target.failing_since
            target.postponed_until = at + min(max(SHORTEST, lasted / 2), LONGEST)
    if target.rested_at is None and is_long:
        target.rested_at = at
        record("callbacks.rested", by=SYSTEM, of=target, team=target.team_id, at=at)


def _was_asked_lately(target: FailingTarget, *, at: datetime) -> bool:
    """Before this attempt, within REST_AFTER: something that failed once, long ago, and something
    that fails now are no five days without a success. Index: callbacks_not_delivered."""
    missing = Callback.objects.not_delivered().to(target.key)
    then = (at - REST_AFTER, at - AN_ATTEMPT)
    return CallbackAttempt.objects.filter(callback__in=missing, started_at__range=then).exists()


def _welcome_back(target: FailingTarget, *, by: Actor, at: datetime) -> int:
    """A target that rested gets what it missed: what waits for it, and what was given up since.
    Locked before it is looked at what waits: a claim may be holding back more (hold_back)."""
    missed = 0
    if not FailingTarget.objects.select_for_update().filter(pk=target.pk):
        return missed  # somebody else was quicker
    if target.rested_at is not None:
        missing = Callback.objects.not_delivered().to(target.key)
        rows = missing.filter(
            Q(given_up_at__isnull=True) | Q(tries__gte=TRIES),
            due_at__isnull=True,
            erased_at__isnull=True,
            # The first that failed may have waited a while before.
            created_at__gte=target.failing_since - REST_AFTER,
        )
        missed = rows.update(due_at=at, tries=0, given_up_at=None)
        record("callbacks.resumed", by=by, of=target, team=target.team_id, at=at, missed=missed)
        signals.ring_on_commit(Callback)
    target.delete()
    return missed
