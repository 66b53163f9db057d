"""Sends due callbacks: claims some, sends them at the same time, and settles those that are
finished, until none is due."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings

from accounts.agents.signing_secrets import SecretUnreadable
from database.clock import database_now
from database.encryption import Unreadable
from database.sweeps import together
from wake.callbacks import kinds
from wake.callbacks.allowlist import Refused
from wake.callbacks.attempts import AT_ONCE, Finished, claim, give_back, settle
from wake.callbacks.host_limits import PER_HOST
from wake.callbacks.http_client import HttpClient, Outcome
from wake.callbacks.signatures import NoSecret
from wake.models import Callback

log = logging.getLogger(__name__)

Sending = dict[asyncio.Task[Outcome | None], Callback]

SETTLE_AT_ONCE = 100
DRAIN_SECONDS = 30.0
TICK_SECONDS = 0.1
# What is not settled when a sender dies is sent again, and has lost one of its tries.
SETTLE_SECONDS = 0.025
# A callback that was claimed ahead of its host's limit is given back after waiting for so long.
TURN_SECONDS = 0.5


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
        starter = _Starter(client, runner.get_loop())
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
                    began = time.monotonic()
                    claimed = claim(
                        at=clock(), room=room, busy=busy, ahead=starter.pace, further=further
                    )
                    if further:
                        took = time.monotonic() - began
                        look_further_at = began + max(TICK_SECONDS, 10 * took)
                    sending |= starter.start(claimed, at=clock())
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


class _Starter:
    """Starts attempts, at most PER_HOST at a time to one host.

    What a kind looks up once for a batch (allowed hosts, secrets) is looked up again after a tick.
    `pace` counts what arrived at each host in the last tick: so many more may be claimed, because
    they will get their turn within about a tick.
    """

    def __init__(self, client: HttpClient, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self.loop = loop
        self.headers_of: dict[str, kinds.Headers] = {}
        self.until = 0.0
        self.turns: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(PER_HOST)
        )
        self.pace: Counter[str] = Counter()
        self.arrived: Counter[str] = Counter()
        self.failed_at: dict[str, float] = {}

    def start(self, claimed: Iterable[Callback], *, at: datetime) -> Sending:
        if time.monotonic() >= self.until:
            self.headers_of.clear()
            self.until = time.monotonic() + TICK_SECONDS
            self.pace, self.arrived = self.arrived, Counter()
        return {self.loop.create_task(self._attempt(each, at)): each for each in claimed}

    def _attempt(self, callback: Callback, at: datetime) -> Coroutine[Any, Any, Outcome | None]:
        kind = kinds.kind_of(callback)
        if kind.name not in self.headers_of:
            self.headers_of[kind.name] = kind.start_batch()
        try:
            url, body = callback.url, bytes(callback.body)
            headers = self.headers_of[kind.name](callback, at)
        except (Refused, SecretUnreadable, NoSecret, Unreadable) as reason:
            return _not_sent(str(reason))
        return self._in_turn(callback.host, self.client.post(url, body=body, headers=headers))

    async def _in_turn(self, host: str, post: Coroutine[Any, Any, Outcome]) -> Outcome | None:
        """Sends when it is this callback's turn. Returns None if it has to wait for too long, or if
        another one to this host fails meanwhile."""
        turns, started_at = self.turns[host], self.loop.time()
        try:
            async with asyncio.timeout(TURN_SECONDS if turns.locked() else None):
                await turns.acquire()
        except TimeoutError:
            post.close()
            return None
        try:
            if self.failed_at.get(host, 0.0) > started_at:
                post.close()
                return None
            outcome = await post
        finally:
            turns.release()
        if outcome.arrived:
            self.arrived[host] += 1
        else:
            self.failed_at[host] = self.loop.time()
            self.pace[host] = self.arrived[host] = 0
        return outcome


async def _opened(open_client: Callable[[], HttpClient]) -> HttpClient:
    return open_client()


async def _not_sent(reason: str) -> Outcome:
    return Outcome(error=reason)


async def _wait(sending: Sending) -> list[tuple[Callback, Outcome | None]]:
    """Waits for a tick, or until a request is finished and others had a moment to follow; returns
    those that are."""
    await asyncio.wait(sending, timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    done, _ = await asyncio.wait(sending, timeout=SETTLE_SECONDS)
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

    def add(self, results: Sequence[tuple[Callback, Outcome | None]]) -> None:
        """Adds those that were sent, and gives the others back."""
        pairs = [(callback, outcome) for callback, outcome in results if outcome is not None]
        if len(pairs) < len(results):
            give_back([callback for callback, outcome in results if outcome is None])
        self.pairs += pairs
        if (
            len(self.pairs) >= SETTLE_AT_ONCE
            or time.monotonic() - self.settled_at >= SETTLE_SECONDS
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


def _outcome(task: asyncio.Task[Outcome | None]) -> Outcome | None:
    if (failure := task.exception()) is None:
        return task.result()
    log.error("A callback could not be sent because of an internal error", exc_info=failure)
    return Outcome(error="Wake failed to send this callback. The server's log says why.")


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
