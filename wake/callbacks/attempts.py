"""Claims due callbacks, and settles the attempts to send them.

A claim writes a lease into the row, and is committed before the callback is sent. Nothing is locked
while the other server takes its time, and if a sender dies, the next one finds the row when the
lease has ended. Statements that every claim or settlement needs are compiled once.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from accounts.audit import SYSTEM, record
from database.compiled_queries import (
    CompiledQuery,
    CompiledUpdate,
    insert_columns,
    list_parameter,
    parameter,
)
from wake.callbacks import circuit_breaker, host_limits, retries
from wake.callbacks.http_client import Outcome
from wake.callbacks.retries import ATTEMPTS_AT_MOST
from wake.models import Callback, CallbackAttempt, Response
from wake.models.callbacks import Target
from wake.models.picking_up import mark_picked_up

Finished = tuple[Callback, Outcome]

AT_ONCE = 200
LEASE = timedelta(seconds=60)  # longer than the HTTP client's deadline and the time to settle

GONE = 410
LEASE_COLUMNS = ("pk", "lease", "is_failing")


@transaction.atomic
def claim(
    *,
    at: datetime,
    room: int = AT_ONCE,
    busy: Mapping[Target, int] | None = None,
    ahead: Mapping[str, int] | None = None,
    further: bool = True,
) -> list[Callback]:
    """Claims up to `room` due rows, oldest first, within the limit of each host; `busy`, `ahead`
    and `further` are explained in wake/callbacks/host_limits.py. From now on their answers cannot
    be taken back."""
    chosen = host_limits.choose(at, room=room, busy=busy or {}, ahead=ahead or {}, further=further)
    if not chosen:
        return []
    # A try is counted when it is claimed, so that a row that kills its sender is given up in the
    # end.
    for callback in chosen:
        if callback.tries >= ATTEMPTS_AT_MOST:
            _give_up(callback, at=at)
            callback.save(update_fields=["due_at", "given_up_at"])
    claimed = [callback for callback in chosen if callback.due_at is not None]
    lease = uuid.uuid4()
    _statements().lease.run(
        ids=[callback.pk for callback in claimed], lease=lease, leased_until=at + LEASE
    )
    _postpone_next_try([each for each in claimed if each.lease is not None], at=at)
    for callback in claimed:
        callback.tries += 1
        callback.lease = lease
    # Everything locks the callback before the response, and responses in the order of their ids
    # (wake/responses.py, wake/pickups.py).
    if response_ids := [callback.response_id for callback in claimed if callback.response_id]:
        _statements().sent.run(ids=response_ids, at=at)
    return claimed


def _postpone_next_try(claimed: Sequence[Callback], *, at: datetime) -> None:
    """Sets when claimed rows whose last sender died are due again, should this one die, too: after
    the wait of the schedule. A worker that dies every minute would otherwise use up their tries
    within ten minutes."""
    for callback in claimed:
        if callback.tries:
            callback.due_at = at + retries.wait(callback.tries)
    if claimed:
        Callback.objects.bulk_update(claimed, ["due_at"])


@transaction.atomic
def settle(finished: Sequence[Finished], *, at: datetime) -> int:
    """Records the outcome of each attempt, and returns how many there are. If another sender has
    claimed the row since, because this one took longer than its lease, the attempt is recorded and
    the row stays with that sender."""
    rows = _statements().leases.rows(ids=[callback.pk for callback, _ in finished])
    leases = {pk: lease for pk, lease, _ in rows}
    pairs = [(callback, outcome) for callback, outcome in finished if callback.pk in leases]
    _store(pairs, at=at)
    own = [pair for pair in pairs if leases[pair[0].pk] == pair[0].lease]
    _complete([callback for callback, outcome in own if outcome.arrived], at=at)
    if failed := [pair for pair in own if not pair[1].arrived]:
        _postpone_all(failed, at=at)
    if any(is_failing for *_, is_failing in rows) or not all(each.arrived for _, each in pairs):
        circuit_breaker.note(pairs, at=at)
    return len(finished)


@transaction.atomic
def give_back(claimed: Sequence[Callback], *, at: datetime) -> None:
    """Ends the claim of callbacks that were not sent. They have lost no try, are due at once, and
    their answers can be taken back again."""
    rows = _statements().leases.rows(ids=[callback.pk for callback in claimed])
    leases = {pk: lease for pk, lease, _ in rows}
    own = [callback for callback in claimed if leases.get(callback.pk) == callback.lease]
    ids = [callback.pk for callback in own]
    _statements().given_back.run(ids=ids)
    if postponed := [each.pk for each in own if each.due_at and each.due_at > at]:
        Callback.objects.filter(pk__in=postponed, due_at__gt=at).update(due_at=at)
    responses = Response.objects.filter(callback__pk__in=ids, callback__tries=0)
    responses.filter(picked_up_at__isnull=True).update(sent_at=None)


def _complete(arrived: Sequence[Callback], *, at: datetime) -> None:
    if arrived:
        _statements().arrived.run(ids=[callback.pk for callback in arrived], at=at)
    if response_ids := [callback.response_id for callback in arrived if callback.response_id]:
        # A 2xx confirms it. An earlier poll stays as it is.
        mark_picked_up(response_ids, route=Response.Route.CALLBACK, at=at)


def _postpone_all(failed: Sequence[Finished], *, at: datetime) -> None:
    columns = ("response_id", "team_id", "host", "due_at", "tries")
    rows = Callback.objects.only(*columns).in_bulk([callback.pk for callback, _ in failed])
    for callback, outcome in failed:
        row = rows[callback.pk]
        asked_meanwhile = row.due_at != callback.due_at
        if callback.asked_by_name and callback.tries > 1 and row.tries:
            row.tries -= 1  # a try by hand takes none from the schedule
        _postpone(row, outcome, asked_meanwhile=asked_meanwhile, at=at)


def _store(finished: Sequence[Finished], *, at: datetime) -> None:
    """Stores the attempts."""
    callbacks = [callback for callback, _ in finished]
    outcomes = [outcome for _, outcome in finished]
    insert_columns(
        CallbackAttempt,
        {
            "callback_id": [callback.pk for callback in callbacks],
            "number": [callback.tries for callback in callbacks],
            "started_at": [at - timedelta(milliseconds=outcome.took_ms) for outcome in outcomes],
            "took_ms": [outcome.took_ms for outcome in outcomes],
            "status_code": [outcome.status_code for outcome in outcomes],
            "error": [outcome.error[:200] for outcome in outcomes],
            "answer": [outcome.answer for outcome in outcomes],
            "by_name": [callback.asked_by_name for callback in callbacks],
        },
    )


def _postpone(row: Callback, outcome: Outcome, *, asked_meanwhile: bool, at: datetime) -> None:
    row.lease = row.leased_until = None
    if not asked_meanwhile:
        row.asked_by_name = ""
        if outcome.status_code == GONE or row.tries >= ATTEMPTS_AT_MOST:
            _give_up(row, at=at)
        else:
            row.due_at = _next_try(row, outcome, at=at)
    fields = ["due_at", "leased_until", "lease", "given_up_at", "asked_by_name", "tries"]
    row.save(update_fields=fields)


def _next_try(row: Callback, outcome: Outcome, *, at: datetime) -> datetime:
    """Returns when the schedule tries again. It counts from the schedule's own last try, not from
    one that a person asked for. A server that asks for more time gets it."""
    last = row.attempts.filter(number=row.tries).order_by("started_at").last()
    settled_at = last.started_at + timedelta(milliseconds=last.took_ms) if last else at
    next_at = settled_at + retries.wait(row.tries)
    return max(next_at, at + retries.asked_for(outcome, at))


def _give_up(callback: Callback, *, at: datetime) -> None:
    callback.due_at = None
    callback.given_up_at = at
    record(
        "callback.given_up",
        by=SYSTEM,
        of=callback.subject,
        team=callback.team_id,
        at=at,
        host=callback.host,
        tries=callback.tries,
    )


@dataclass(frozen=True, slots=True)
class _Statements:
    """Holds the statements of every claim and settlement; `ids` are callbacks or responses."""

    lease: CompiledUpdate
    sent: CompiledUpdate
    given_back: CompiledUpdate
    leases: CompiledQuery
    arrived: CompiledUpdate


@cache
def _statements() -> _Statements:
    callbacks = Callback.objects.filter(pk__one_of=list_parameter("ids", Callback, "id"))
    responses = Response.objects.filter(pk__one_of=list_parameter("ids", Response, "id"))
    locked = callbacks.with_failing_hosts().select_for_update()
    unsent = responses.not_sent().select_for_update().order_by("pk")
    return _Statements(
        lease=CompiledUpdate(
            callbacks,
            tries=F("tries") + 1,
            lease=parameter("lease", Callback, "lease"),
            leased_until=parameter("leased_until", Callback, "leased_until"),
        ),
        sent=CompiledUpdate(
            Response.objects.filter(pk__in=unsent.values("pk")),
            sent_at=parameter("at", Response, "sent_at"),
        ),
        given_back=CompiledUpdate(
            callbacks, tries=Greatest(F("tries") - 1, 0), lease=None, leased_until=None
        ),
        leases=CompiledQuery(lambda: locked.order_by("pk").values_list(*LEASE_COLUMNS)),
        arrived=CompiledUpdate(
            callbacks,
            delivered_at=parameter("at", Callback, "delivered_at"),
            due_at=None,
            lease=None,
            leased_until=None,
            asked_by_name="",
        ),
    )
