"""Queues, claims, sends and settles callbacks. The row is the queue.

A claim writes a lease into the row, and is committed before the callback is sent. Nothing is locked
while the other server takes its time, and if a sender dies, the next one finds the row when the
lease has ended.
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
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from accounts.access import NotAllowed, may_answer
from accounts.agents.signing_secrets import SecretUnreadable
from accounts.audit import SYSTEM, person, record, record_many
from accounts.models import Agent, User
from database import encryption
from database.clock import database_now
from database.compiled_queries import insert_many
from database.encryption import Unreadable
from database.sweeps import together
from wake import signals, wire
from wake.callbacks import allowlist, circuit_breaker, host_limits, kinds, retries
from wake.callbacks.allowlist import Refused
from wake.callbacks.http_client import HttpClient, Outcome
from wake.callbacks.retries import TRIES
from wake.callbacks.signatures import NoSecret
from wake.models import Callback, CallbackAttempt, Delivery, Response
from wake.models.callbacks import Target

log = logging.getLogger(__name__)

Sending = dict[asyncio.Task[Outcome], Callback]
Finished = tuple[Callback, Outcome]

AT_ONCE = 200
SETTLE_AT_ONCE = 100
LEASE = timedelta(seconds=60)  # longer than the HTTP client's deadline and the time to settle
DRAIN_SECONDS = 30.0
TICK_SECONDS = 0.1
MOMENT_SECONDS = 0.005

GONE = 410
UNREADABLE_HOST = "(unreadable)"  # not a valid host name, so it delays no other callback


class AlreadyDelivered(Exception):
    """This callback was already delivered."""


class NothingLeftToSend(Exception):
    """Its content was erased, so it cannot be sent again. The agent can still fetch the outcome."""


def queue(response: Response) -> Callback:
    """Queues the callback of `response`, whose delivery is loaded, inside the transaction that
    releases it. The callback is due at once."""
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
    signals.wake_worker_on_commit(Callback)
    return callback


@dataclass(frozen=True, slots=True)
class Post:
    """A callback that carries no answer. Its headers are stored encrypted."""

    url: str
    body: bytes
    headers: Mapping[str, str]


def queue_others(
    agent: Agent, posts: Iterable[Post], *, kind: str, about: uuid.UUID, at: datetime
) -> list[Callback]:
    """Queues callbacks of a kind that its app has registered (wake/callbacks/kinds.py), inside the
    transaction that causes them; they are due at once."""
    callbacks = [
        Callback(
            kind=kind,
            about=about,
            agent=agent,
            team_id=agent.team_id,
            url=post.url,
            host=_host(post.url),
            headers_ciphertext=encryption.encrypt(json.dumps(dict(post.headers)).encode()).decode(),
            body=post.body,
            due_at=at,
        )
        for post in posts
    ]
    Callback.objects.bulk_create(callbacks, batch_size=AT_ONCE)
    if callbacks:
        signals.wake_worker_on_commit(Callback)
    return callbacks


@transaction.atomic
def send_again(callback: Callback, *, by: User, at: datetime, address: str = "") -> None:
    """Makes a failed callback due at once. The schedule of its retries stays as it is; one that was
    given up, or whose last try is under way, starts its schedule again. Raises NotAllowed,
    AlreadyDelivered or NothingLeftToSend."""
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
    circuit_breaker.reset(callback.target, at=at)
    record(
        "callback.sent_again",
        by=person(by, address),
        of=callback.subject,
        team=callback.team_id,
        at=at,
        host=callback.host,
    )
    signals.wake_worker_on_commit(Callback)


def send_due(
    *,
    clock: Callable[[], datetime] = database_now,
    open_client: Callable[[], HttpClient] = HttpClient,
    seconds: float = DRAIN_SECONDS,
) -> int:
    """Sends due callbacks until none is left, and claims no more after so many seconds; returns how
    many attempts were settled. Does nothing while another process on this machine is sending."""
    if not Callback.objects.due(clock()).exists():
        return 0
    with asyncio.Runner() as runner:
        client = runner.run(_opened(open_client))
        sending: Sending = {}
        finished = _Finished(clock)
        claimed: list[Callback] = []
        look_further_at = 0.0
        stop_at = time.monotonic() + seconds
        try:
            with _only_sender() as is_ours:
                while is_ours and time.monotonic() < stop_at:
                    busy = Counter(callback.target for callback in sending.values())
                    room = AT_ONCE - len(sending) - len(finished.pairs)
                    further = not claimed or time.monotonic() >= look_further_at
                    claimed = claim(at=clock(), room=room, busy=busy, further=further)
                    if further:
                        look_further_at = time.monotonic() + TICK_SECONDS
                    sending |= _start(claimed, at=clock(), client=client, loop=runner.get_loop())
                    if sending:
                        finished.add(runner.run(_wait(sending)))
                    elif finished.pairs:
                        finished.settle()  # a success can make others due
                    elif further:
                        break
            while sending:  # outside the lock, so that the next sender need not wait for these
                finished.add(runner.run(_wait(sending)))
            finished.settle()
        finally:
            runner.run(client.close())
    return finished.settled


@transaction.atomic
def claim(
    *,
    at: datetime,
    room: int = AT_ONCE,
    busy: Mapping[Target, int] | None = None,
    further: bool = True,
) -> list[Callback]:
    """Claims up to `room` due rows, oldest first, within the limit of each host; `busy` counts the
    callbacks that are being sent, and `further` is explained in wake/callbacks/host_limits.py. From
    now on their answers cannot be taken back."""
    chosen = host_limits.choose(at, room=room, busy=busy or {}, further=further)
    if not chosen:
        return []
    # A try is counted when it is claimed, so that a row that kills its sender is given up in the
    # end.
    for callback in chosen:
        if callback.tries >= TRIES:
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
    # Everything locks the callback before the response, and responses in the order of their ids
    # (wake/responses.py, wake/pickups.py).
    response_ids = [callback.response_id for callback in claimed if callback.response_id]
    unsent = Response.objects.not_sent().filter(pk__in=response_ids)
    locked = unsent.select_for_update().order_by("pk").values("pk")
    Response.objects.filter(pk__in=locked).update(sent_at=at)
    return claimed


@transaction.atomic
def settle(finished: Sequence[Finished], *, at: datetime) -> int:
    """Records the outcome of each attempt, and returns how many there are. If another sender has
    claimed the row since, because this one took longer than its lease, the attempt is recorded and
    the row stays with that sender."""
    locked = Callback.objects.select_for_update().order_by("pk")
    locked = locked.filter(pk__in=[callback.pk for callback, _ in finished])
    leases = dict(locked.values_list("pk", "lease"))
    pairs = [(callback, outcome) for callback, outcome in finished if callback.pk in leases]
    insert_many([_attempt(*pair, at=at) for pair in pairs])
    own = [pair for pair in pairs if leases[pair[0].pk] == pair[0].lease]
    _complete([callback for callback, outcome in own if outcome.arrived], at=at)
    _postpone_all([pair for pair in own if not pair[1].arrived], at=at)
    circuit_breaker.note(pairs, at=at)
    return len(finished)


def _complete(arrived: Sequence[Callback], *, at: datetime) -> None:
    if arrived:
        Callback.objects.filter(pk__in=[callback.pk for callback in arrived]).update(
            delivered_at=at, due_at=None, lease=None, leased_until=None, asked_by_name=""
        )
    if response_ids := [callback.response_id for callback in arrived if callback.response_id]:
        _mark_picked_up(response_ids, at=at)


def _postpone_all(failed: Sequence[Finished], *, at: datetime) -> None:
    columns = ("response_id", "team_id", "host", "due_at", "tries")
    rows = Callback.objects.only(*columns).in_bulk([callback.pk for callback, _ in failed])
    for callback, outcome in failed:
        row = rows[callback.pk]
        asked_meanwhile = row.due_at != callback.due_at
        if callback.asked_by_name and callback.tries > 1:
            row.tries -= 1  # a try by hand takes none from the schedule
        _postpone(row, outcome, asked_meanwhile=asked_meanwhile, at=at)


def _start(
    claimed: Iterable[Callback],
    *,
    at: datetime,
    client: HttpClient,
    loop: asyncio.AbstractEventLoop,
) -> Sending:
    headers_of: dict[str, kinds.Headers] = {}
    sending: Sending = {}
    for callback in claimed:
        kind = kinds.kind_of(callback)
        if kind.name not in headers_of:
            headers_of[kind.name] = kind.start_batch()
        try:
            url, body = callback.url, bytes(callback.body)
            headers = headers_of[kind.name](callback, at)
        except (Refused, SecretUnreadable, NoSecret, Unreadable) as reason:
            attempt = _not_sent(str(reason))
        else:
            attempt = client.post(url, body=body, headers=headers)
        sending[loop.create_task(attempt)] = callback
    return sending


async def _opened(open_client: Callable[[], HttpClient]) -> HttpClient:
    return open_client()


async def _not_sent(reason: str) -> Outcome:
    return Outcome(error=reason)


async def _wait(sending: Sending) -> list[Finished]:
    """Waits for a tick, or until a request is finished and others had a moment to follow; returns
    those that are."""
    await asyncio.wait(sending, timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    done, _ = await asyncio.wait(sending, timeout=MOMENT_SECONDS)
    return [(sending.pop(task), _outcome(task)) for task in done]


class _Finished:
    """Collects attempts that arrived, because they are settled in as many statements as one. Their
    hosts get the next ones meanwhile. A failure is settled at once: it decides what may be sent
    there."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.pairs: list[Finished] = []
        self.settled = 0
        self.settled_at = time.monotonic()

    def add(self, pairs: Sequence[Finished]) -> None:
        self.pairs += pairs
        if (
            len(self.pairs) >= SETTLE_AT_ONCE
            or time.monotonic() - self.settled_at >= TICK_SECONDS
            or not all(outcome.arrived for _, outcome in pairs)
        ):
            self.settle()

    def settle(self) -> None:
        """Settles what was collected. If the database is away, the leases end, and the next
        sender's requests have the same ids."""
        pairs, self.pairs = self.pairs, []
        self.settled_at = time.monotonic()
        work = partial(settle, at=self.clock())
        self.settled += together(pairs, work, what="attempts of callbacks")


def _outcome(task: asyncio.Task[Outcome]) -> Outcome:
    if (failure := task.exception()) is None:
        return task.result()
    log.error("A callback could not be sent because of an internal error", exc_info=failure)
    return Outcome(error="Wake failed to send this callback. The server's log says why.")


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


def _mark_picked_up(response_ids: list[uuid.UUID], *, at: datetime) -> None:
    """Stamps the responses as picked up, because a 2xx confirms it. An earlier poll stays as it
    is."""
    fresh = list(
        Response.objects.select_for_update(of=("self",))
        .filter(pk__in=response_ids, picked_up_at__isnull=True)
        .select_related("delivery")
        .only("delivery__team_id", "delivery__content_hash")
        .order_by("pk")
    )
    Response.objects.filter(pk__in=[response.pk for response in fresh]).update(
        picked_up_at=at, picked_up_by=Response.Route.CALLBACK
    )
    deliveries = [response.delivery for response in fresh]
    record_many(
        "response.picked_up", by=SYSTEM, of=deliveries, at=at, route=Response.Route.CALLBACK
    )


@contextmanager
def _only_sender() -> Iterator[bool]:
    """Allows one sender on a machine, so that slow receivers occupy one process of a worker and not
    all. The kernel releases the lock of a process that dies, and a lock on a folder needs no
    file."""
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
    """Returns the URL and the host. A URL whose encryption key is gone stays encrypted: each
    attempt fails until the key is back."""
    try:
        url = delivery.callback_webhook
    except Unreadable:
        return vars(delivery)["callback_webhook"], UNREADABLE_HOST
    return url, _host(url)


def _host(url: str) -> str:
    """Returns the host by which limits are counted, or an empty text for a URL that is refused only
    when it is sent."""
    try:
        return allowlist.parse(url).name
    except Refused:
        return ""
