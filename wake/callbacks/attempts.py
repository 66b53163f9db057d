"""Claims due callbacks, and settles the attempts to send them.

A claim writes a lease into the row, and is committed before the callback is sent. Nothing is locked
while the other server works. If a sender dies, the next one finds the row when the lease has ended.
Statements that every claim or settlement needs are compiled once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TypeAlias

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
from wake.callbacks.http_client import HttpResult
from wake.callbacks.retries import MAX_ATTEMPTS
from wake.models import Callback, CallbackAttempt, Response
from wake.models.callbacks import Target
from wake.models.picking_up import mark_picked_up

Result: TypeAlias = HttpResult
Finished = tuple[Callback, HttpResult]
# The headers of an attempt, and what to call with its result.
Post = tuple[Mapping[str, str], Callable[[HttpResult], None]]
Observer = Callable[[Callback, Mapping[str, str]], Post]

AT_ONCE = 200
LEASE = timedelta(seconds=60)  # longer than the HTTP client's deadline and the time to settle

GONE = 410
LEASE_COLUMNS = ("pk", "lease", "is_failing")


def _ignore(callback: Callback, headers: Mapping[str, str]) -> Post:
    return headers, lambda result: None


_observer: Observer = _ignore


def observe(observer: Observer) -> Observer:
    """Lets the observer see each attempt from now on, and returns the observer until now."""
    global _observer
    before, _observer = _observer, observer
    return before


def begin(callback: Callback, headers: Mapping[str, str]) -> Post:
    """Begins an attempt. Returns the headers to send, and what to call with its result."""
    return _observer(callback, headers)


@transaction.atomic
def claim(
    *,
    at: datetime,
    room: int = AT_ONCE,
    busy: Mapping[Target, int] | None = None,
    ahead: Mapping[str, int] | None = None,
    further: bool = True,
) -> list[Callback]:
    """Claims up to `room` due rows, oldest first, within the limit of each host.
    wake/callbacks/host_limits.py explains `busy`, `ahead` and `further`. From now on the answers in
    these callbacks cannot be taken back."""
    chosen = host_limits.choose(at, room=room, busy=busy or {}, ahead=ahead or {}, further=further)
    if not chosen:
        return []
    # A try is counted at the claim, so that a row whose sender dies every time is given up in the
    # end.
    for callback in chosen:
        if callback.tries >= MAX_ATTEMPTS:
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
        callback.lease, callback.leased_until = lease, at + LEASE
    # All code locks the callback before the response, and responses in the order of their ids
    # (wake/responses.py, wake/pickups.py).
    if response_ids := [callback.response_id for callback in claimed if callback.response_id]:
        _statements().sent.run(ids=response_ids, at=at)
    return claimed


def _postpone_next_try(claimed: Sequence[Callback], *, at: datetime) -> None:
    """Handles claimed rows whose last sender died. If this sender dies, too, the rows are due again
    after the wait of the schedule. Otherwise a worker that dies every minute would use up their
    tries within ten minutes."""
    for callback in claimed:
        if callback.tries:
            callback.due_at = at + retries.wait(callback.tries)
    if claimed:
        Callback.objects.bulk_update(claimed, ["due_at"])


@transaction.atomic
def settle(finished: Sequence[Finished], *, at: datetime) -> int:
    """Records the outcome of each attempt, and returns the number of attempts. This sender may have
    taken longer than its lease, and another sender may have claimed the row since. In that case the
    attempt is recorded, and the other sender keeps the row."""
    rows = _statements().leases.rows(ids=[callback.pk for callback, _ in finished])
    leases = {pk: lease for pk, lease, _ in rows}
    pairs = [(callback, outcome) for callback, outcome in finished if callback.pk in leases]
    _store(pairs, at=at)
    own = [pair for pair in pairs if leases[pair[0].pk] == pair[0].lease]
    _complete([callback for callback, outcome in own if outcome.arrived], at=at)
    if failed := [pair for pair in own if not pair[1].arrived]:
        _postpone_all(failed, at=at)
    if any(is_failing for *_, is_failing in rows) or not all(each.arrived for _, each in pairs):
        circuit_breaker.record_outcomes(pairs, at=at)
    return len(finished)


@transaction.atomic
def give_back(claimed: Sequence[Callback], *, at: datetime) -> None:
    """Ends the claim of callbacks that were not sent. These callbacks are due immediately, and
    their tries stay the same. Their answers can be taken back again, unless an earlier claim may
    have sent them."""
    rows = _statements().leases.rows(ids=[callback.pk for callback in claimed])
    leases = {pk: lease for pk, lease, _ in rows}
    own = [callback for callback in claimed if leases.get(callback.pk) == callback.lease]
    ids = [callback.pk for callback in own]
    _statements().given_back.run(ids=ids)
    if postponed := [each.pk for each in own if each.due_at and each.due_at > at]:
        Callback.objects.filter(pk__in=postponed, due_at__gt=at).update(due_at=at)
    _clear_sent_at(own)


def _clear_sent_at(given_back: Sequence[Callback]) -> None:
    """Clears the stamps that the claims of these callbacks wrote. The stamp of an earlier claim
    stays: its sender may have sent the callback, even if it stored no attempt, or if a person has
    reset the tries since."""
    leased_until = {callback.pk: callback.leased_until for callback in given_back}
    rows = Response.objects.filter(callback__in=list(leased_until), picked_up_at__isnull=True)
    locked = rows.select_for_update(of=("self",)).order_by("pk")
    stamps = locked.values_list("pk", "callback__pk", "sent_at")
    own = [pk for pk, callback, at in stamps if at and at + LEASE == leased_until[callback]]
    Response.objects.filter(pk__in=own).update(sent_at=None)


def _complete(arrived: Sequence[Callback], *, at: datetime) -> None:
    if arrived:
        _statements().arrived.run(ids=[callback.pk for callback in arrived], at=at)
    if response_ids := [callback.response_id for callback in arrived if callback.response_id]:
        # A 2xx confirms the pick-up. If a poll picked the answer up before, that pick-up stays
        # recorded.
        mark_picked_up(response_ids, route=Response.Route.CALLBACK, at=at)


def _postpone_all(failed: Sequence[Finished], *, at: datetime) -> None:
    columns = ("response_id", "team_id", "host", "due_at", "tries")
    rows = Callback.objects.only(*columns).in_bulk([callback.pk for callback, _ in failed])
    for callback, outcome in failed:
        row = rows[callback.pk]
        asked_meanwhile = row.due_at != callback.due_at
        if callback.asked_by_name and callback.tries > 1 and row.tries:
            row.tries -= 1  # an attempt by hand is not counted as a try
        _postpone(row, outcome, asked_meanwhile=asked_meanwhile, at=at)


def _store(finished: Sequence[Finished], *, at: datetime) -> None:
    """Stores a row for each finished attempt."""
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


def _postpone(row: Callback, outcome: HttpResult, *, asked_meanwhile: bool, at: datetime) -> None:
    row.lease = row.leased_until = None
    if not asked_meanwhile:
        row.asked_by_name = ""
        if outcome.status_code == GONE or row.tries >= MAX_ATTEMPTS:
            _give_up(row, at=at)
        else:
            row.due_at = _next_try(row, outcome, at=at)
    fields = ["due_at", "leased_until", "lease", "given_up_at", "asked_by_name", "tries"]
    row.save(update_fields=fields)


def _next_try(row: Callback, outcome: HttpResult, *, at: datetime) -> datetime:
    """Returns when the schedule tries again. The wait begins at the schedule's own last try;
    attempts that a person asked for do not count. If the receiving server asks for a longer wait,
    the wait is longer."""
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
    """Holds the statements of every claim and settlement. `ids` are ids of callbacks or
    responses."""

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
