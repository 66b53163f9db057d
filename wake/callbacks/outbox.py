"""Queues, claims, sends and settles callbacks: the row is the queue.

A claim says in the row who sends it and until when, and is committed before anything leaves. So
nothing is locked while the other server takes its time, and a sender that dies leaves a row that
the next one finds when its lease has run out.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from accounts import encryption
from accounts.access import NotAllowed, may_answer
from accounts.audit import SYSTEM, person, record, record_many
from accounts.encryption import Unreadable
from accounts.models import Agent, User
from accounts.signing_secrets import SecretUnreadable, secrets_of
from wake import breakers, destinations, retries, signals, signatures, slots, wire
from wake.clock import database_now
from wake.connections import DATABASE_AWAY
from wake.destinations import Door, Outcome, Refused
from wake.models import Callback, CallbackAttempt, Delivery, Response
from wake.models.callbacks import Target
from wake.retries import TRIES
from wake.signatures import NoSecret

log = logging.getLogger(__name__)

Sending = dict[asyncio.Task[Outcome], Callback]

AT_ONCE = 200
LEASE = timedelta(seconds=60)  # more than the door's deadline and the time to settle
DRAIN_SECONDS = 30.0
TICK_SECONDS = 0.1

GONE = 410
UNREADABLE_HOST = "(unreadable)"  # no name of a host, so it holds none back


class AlreadyDelivered(Exception):
    """The agent has this callback already."""


class NothingLeftToSend(Exception):
    """Its content was erased, so it cannot be sent again. The agent can still fetch the outcome."""


def queue(response: Response) -> Callback:
    """Inside the transaction that releases `response`, whose delivery is loaded; due at once."""
    delivery = response.delivery
    answer = wire.answer(
        delivery_id=delivery.pk,
        expires_at=delivery.expires_at,
        status=response.status,
        feedback=response.feedback,
        edited_json=response.edited_json,
        answered_at=response.answered_at,
        responded_at=response.responded_at,
        at=response.answered_at,
    )
    url, host = _address(delivery)
    callback = Callback.objects.create(
        response=response,
        agent_id=delivery.agent_id,
        team_id=delivery.team_id,
        url=url,
        host=host,
        body=wire.encode(answer),
        due_at=response.responded_at,
    )
    signals.ring_on_commit(Callback)
    return callback


def queue_push(
    agent: Agent,
    *,
    task_id: uuid.UUID,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    at: datetime,
) -> Callback:
    """News of an A2A task, inside the transaction that made it; due at once. It goes where the
    task's caller asked for, whatever the team's list of hosts says, with `headers` and unsigned."""
    secret = encryption.encrypt(json.dumps(dict(headers)).encode()).decode()
    callback = Callback.objects.create(
        relayed_task=task_id,
        agent=agent,
        team_id=agent.team_id,
        url=url,
        host=_host(url),
        headers_ciphertext=secret,
        body=body,
        due_at=at,
    )
    signals.ring_on_commit(Callback)
    return callback


@transaction.atomic
def send_again(callback: Callback, *, by: User, at: datetime, address: str = "") -> None:
    """A failed one, at once: a scheduled retry comes forward, one that was given up, or whose last
    try is under way, starts its schedule anew. Raises NotAllowed, AlreadyDelivered or
    NothingLeftToSend."""
    callback = Callback.objects.select_for_update(of=("self",)).get(pk=callback.pk)
    if not may_answer(by, callback.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if callback.delivered_at is not None:
        raise AlreadyDelivered(AlreadyDelivered.__doc__)
    if callback.erased_at is not None:
        raise NothingLeftToSend(NothingLeftToSend.__doc__)
    if callback.given_up_at is not None or callback.tries >= TRIES:
        callback.given_up_at = None
        callback.tries = 0
    callback.due_at = at
    callback.asked_by_name = by.display_name
    callback.save(update_fields=["given_up_at", "tries", "due_at", "asked_by_name"])
    breakers.begin_anew(callback.target, at=at)
    record(
        "callback.sent_again",
        by=person(by, address),
        of=callback.subject,
        team=callback.team_id,
        at=at,
        host=callback.host,
    )
    signals.ring_on_commit(Callback)


def send_due(
    *,
    clock: Callable[[], datetime] = database_now,
    open_door: Callable[[], Door] = Door,
    seconds: float = DRAIN_SECONDS,
) -> int:
    """Sends what is due until nothing is left, and claims no more after so many seconds; returns
    how many attempts were settled. Where another process of this machine is at it already, that one
    finds the rows."""
    if not Callback.objects.due(clock()).exists():
        return 0
    settled = 0
    with asyncio.Runner() as runner:
        door = runner.run(_opened(open_door))
        sending: Sending = {}
        stop_at = time.monotonic() + seconds
        try:
            with _only_sender() as is_ours:
                while is_ours and time.monotonic() < stop_at:
                    busy = Counter(callback.target for callback in sending.values())
                    claimed = claim(at=clock(), room=AT_ONCE - len(sending), busy=busy)
                    sending |= _start(claimed, at=clock(), door=door, loop=runner.get_loop())
                    if not sending:
                        break
                    settled += _settle_finished(sending, runner, clock)
            while sending:  # whoever claims next need not wait for these
                settled += _settle_finished(sending, runner, clock)
        finally:
            runner.run(door.close())
    return settled


@transaction.atomic
def claim(
    *, at: datetime, room: int = AT_ONCE, busy: Mapping[Target, int] | None = None
) -> list[Callback]:
    """Takes up to `room` due rows, oldest first, and no more of a host than it has free slots:
    `busy` counts those in use. From here on their answers cannot be taken back."""
    chosen = slots.choose(at, room=room, busy=busy or {})
    # A try counts when it is claimed, so that a row which kills its sender runs out as well.
    for callback in (each for each in chosen if each.tries >= TRIES):
        _give_up(callback, at=at)
        callback.save(update_fields=["due_at", "given_up_at"])
    claimed = [callback for callback in chosen if callback.due_at is not None]
    lease = uuid.uuid4()
    Callback.objects.filter(pk__in=[callback.pk for callback in claimed]).update(
        tries=F("tries") + 1, lease=lease, leased_until=at + LEASE
    )
    for callback in claimed:
        callback.tries += 1
        callback.lease = lease
    # Always callback first, then response, and responses in order of their ids, like everyone else
    # who locks them (wake/responses.py, wake/pickups.py).
    answers = [each.response_id for each in claimed if each.response_id]
    unsent = Response.objects.not_sent().filter(pk__in=answers)
    locked = list(unsent.select_for_update().order_by("pk").values_list("pk", flat=True))
    Response.objects.filter(pk__in=locked).update(sent_at=at)
    return claimed


@transaction.atomic
def settle(finished: Sequence[tuple[Callback, Outcome]], *, at: datetime) -> None:
    """Writes down what became of each attempt. A row that another sender has claimed since, because
    this one took longer than its lease, gets the attempt and stays that other sender's."""
    rows = (
        Callback.objects.select_for_update(of=("self",))
        .filter(pk__in=[callback.pk for callback, _ in finished])
        .only("response_id", "relayed_task", "team_id", "host", "due_at", "lease", "tries")
        .order_by("pk")
    )
    found = {row.pk: row for row in rows}
    pairs = [(callback, outcome) for callback, outcome in finished if callback.pk in found]
    CallbackAttempt.objects.bulk_create(_attempt(*pair, at=at) for pair in pairs)
    arrived = []
    for callback, outcome in pairs:
        row = found[callback.pk]
        if row.lease == callback.lease:
            if outcome.arrived:
                arrived.append(row)
            else:
                _postpone(row, outcome, asked_meanwhile=row.due_at != callback.due_at, at=at)
    Callback.objects.filter(pk__in=[row.pk for row in arrived]).update(
        delivered_at=at, due_at=None, lease=None, leased_until=None, asked_by_name=""
    )
    _mark_picked_up([row.response_id for row in arrived if row.response_id], at=at)
    breakers.note([(found[callback.pk], outcome) for callback, outcome in pairs], at=at)


def _start(
    claimed: Iterable[Callback], *, at: datetime, door: Door, loop: asyncio.AbstractEventLoop
) -> Sending:
    # Asked for every attempt, but once for all that go the same way.
    check, secrets = cache(destinations.check), cache(secrets_of)
    sending: Sending = {}
    for callback in claimed:
        try:
            url, body = callback.url, bytes(callback.body)
            if callback.response is None:
                headers = callback.headers
            else:
                check(url, team_id=callback.team_id)
                headers = signatures.sign(
                    body, secrets=secrets(callback.agent_id), message_id=str(callback.pk), at=at
                )
                headers["X-Wake-Delivery-Id"] = str(callback.response.delivery_id)
                headers["Content-Type"] = "application/json"
        except (Refused, SecretUnreadable, NoSecret, Unreadable) as reason:
            attempt = _not_sent(str(reason))
        else:
            attempt = door.post(url, body=body, headers=headers)
        sending[loop.create_task(attempt)] = callback
    return sending


async def _opened(open_door: Callable[[], Door]) -> Door:
    return open_door()


async def _not_sent(reason: str) -> Outcome:
    return Outcome(error=reason)


def _settle_finished(
    sending: Sending, runner: asyncio.Runner, clock: Callable[[], datetime]
) -> int:
    """Lets the loop run for a tick, or until all have come back."""
    done, _ = runner.run(asyncio.wait(sending, timeout=TICK_SECONDS))
    finished = [(sending.pop(task), _outcome(task)) for task in done]
    try:
        settle(finished, at=clock())
    except DATABASE_AWAY:
        raise  # their leases run out, and whoever claims them next tells by the id
    except Exception:
        for pair in finished:  # so that one that cannot be written down holds no other back
            _settle_one(pair, at=clock())
    return len(finished)


def _settle_one(pair: tuple[Callback, Outcome], *, at: datetime) -> None:
    try:
        settle([pair], at=at)
    except DATABASE_AWAY:
        raise
    except Exception:
        log.exception("The attempt of callback %s cannot be written down", pair[0].pk)


def _outcome(task: asyncio.Task[Outcome]) -> Outcome:
    if (failure := task.exception()) is None:
        return task.result()
    log.error("A callback failed on our side", exc_info=failure)
    return Outcome(error="Something failed on our side; the server's log says what.")


def _attempt(callback: Callback, outcome: Outcome, *, at: datetime) -> CallbackAttempt:
    return CallbackAttempt(
        callback=callback,
        number=callback.tries,
        started_at=at - timedelta(milliseconds=outcome.took_ms),
        took_ms=outcome.took_ms,
        status_code=outcome.status_code,
        error=outcome.error[:200],
        answer=outcome.answer,
        by_name=callback.asked_by_name,
    )


def _postpone(row: Callback, outcome: Outcome, *, asked_meanwhile: bool, at: datetime) -> None:
    row.lease = row.leased_until = None
    if not asked_meanwhile:
        row.asked_by_name = ""
        if outcome.status_code == GONE or row.tries >= TRIES:
            _give_up(row, at=at)
        else:
            row.due_at = at + retries.wait(row.tries, outcome, at)
    row.save(update_fields=["due_at", "leased_until", "lease", "given_up_at", "asked_by_name"])


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


def _mark_picked_up(response_ids: list[uuid.UUID], *, at: datetime) -> None:
    """A 2xx is the agent's word that it has the answer; where a poll was earlier, that stays."""
    fresh = list(
        Response.objects.select_for_update(of=("self",))
        .filter(pk__in=response_ids, picked_up_at__isnull=True)
        .select_related("delivery")
        .only("delivery__team_id", "delivery__content_hash")
        .order_by("pk")
    )
    Response.objects.filter(pk__in=[response.pk for response in fresh]).update(
        picked_up_at=at, picked_up_by=Response.Route.WEBHOOK
    )
    deliveries = [response.delivery for response in fresh]
    record_many("response.picked_up", by=SYSTEM, of=deliveries, at=at, route=Response.Route.WEBHOOK)


@contextmanager
def _only_sender() -> Iterator[bool]:
    """One sender a machine: slow receivers keep one process of a worker busy, never all of them.
    The kernel takes the lock from a process that dies, and on a folder it needs no file."""
    folder = settings.WAKE_DATA if settings.WAKE_DATA.is_dir() else settings.BASE_DIR
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except BlockingIOError:
            is_ours = False
        yield is_ours
    finally:
        os.close(descriptor)


def _address(delivery: Delivery) -> tuple[Any, str]:
    """Its URL and host. One that no key opens stays as it is stored: each try tells of it, and the
    first one after the key is back arrives."""
    try:
        url = delivery.callback_webhook
    except Unreadable:
        return vars(delivery)["callback_webhook"], UNREADABLE_HOST
    return url, _host(url)


def _host(url: str) -> str:
    """What the slots are counted by; never a reason to hold an answer back."""
    try:
        return destinations.parse(url).name
    except Refused:
        return ""
