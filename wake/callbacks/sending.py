"""Claims due callbacks, sends them at the same time, and settles the finished ones, until none is
due."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from math import inf
from typing import NamedTuple

from django.conf import settings

from accounts.agents.signing_secrets import SecretUnreadable
from database.clock import database_now
from database.encryption import Unreadable
from database.sweeps import together
from wake.callbacks import attempts, kinds
from wake.callbacks.allowlist import AddressRefused
from wake.callbacks.attempts import AT_ONCE, Finished, claim, give_back, settle
from wake.callbacks.host_limits import PER_HOST
from wake.callbacks.http_client import HttpClient, HttpResult
from wake.callbacks.signatures import NoSecret
from wake.models import Callback
from wake.models.callbacks import Target
from wake.signals import callbacks_attempted

log = logging.getLogger(__name__)

Sent = tuple[Callback, HttpResult | None]

SETTLE_AT_ONCE = 100
DRAIN_SECONDS = 30.0
TICK_SECONDS = 0.1
# If a sender dies, its unsettled callbacks are sent again, and each has lost one try.
SETTLE_SECONDS = 0.025
# A callback that was claimed ahead of its host's limit is given back after waiting this long.
TURN_SECONDS = 0.5


def send_due(
    *,
    clock: Callable[[], datetime] = database_now,
    open_client: Callable[[], HttpClient] = HttpClient,
    seconds: float = DRAIN_SECONDS,
) -> int:
    """Sends due callbacks until none is left; returns how many attempts were settled. After
    `seconds` it claims no more. Does nothing while another process on this machine is sending."""
    if not Callback.objects.due(clock()).exists():
        return 0
    with asyncio.Runner() as runner:
        client = runner.run(_opened(open_client))
        slots = _Slots(client, runner.get_loop())
        finished = _Finished(clock)
        claimed: list[Callback] = []
        look_further_at = 0.0
        stop_at = time.monotonic() + seconds
        try:
            with _only_sender() as is_ours:
                while is_ours and time.monotonic() < stop_at:
                    room = AT_ONCE - slots.unfinished - len(finished.pairs)
                    further = not claimed or time.monotonic() >= look_further_at
                    began = time.monotonic()
                    claimed = claim(
                        at=clock(), room=room, busy=slots.busy, ahead=slots.pace, further=further
                    )
                    if further:
                        took = time.monotonic() - began
                        look_further_at = began + max(TICK_SECONDS, 10 * took)
                    slots.start(claimed, at=clock())
                    if slots.unfinished:
                        finished.add(runner.run(slots.wait()))
                    elif finished.pairs:
                        finished.settle()  # a success can make other callbacks of the target due
                    elif further:
                        break
            while slots.unfinished:  # outside the lock, so that the next sender does not wait
                finished.add(runner.run(slots.wait()))
            finished.settle()
        finally:
            runner.run(client.close())
    return finished.settled


class _Turn(NamedTuple):
    """Holds a callback that waits for its turn, and its request."""

    callback: Callback
    url: str
    body: bytes
    headers: dict[str, str]
    since: float


class _Slots:
    """Sends callbacks in slots: a host has at most PER_HOST slots, and each slot sends one callback
    after the other.

    A callback is not sent, and its outcome is None, if it waits too long for its turn, or if
    another callback to its host fails meanwhile. Facts that a kind looks up once for a batch
    (allowed hosts, secrets) are looked up again after a tick. `pace` counts the callbacks that
    arrived at each host in the last tick. For each host, that many further callbacks may be
    claimed, because they will be sent within about a tick.
    """

    def __init__(self, client: HttpClient, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self.loop = loop
        self.headers_of: dict[str, kinds.Headers] = {}
        self.until = 0.0
        self.waiting: defaultdict[str, deque[_Turn]] = defaultdict(deque)
        self.slots: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self.targets: Counter[Target] = Counter()
        self.in_flight = 0
        self.finished: list[Sent] = []
        self.some_finished = asyncio.Event()
        self.all_finished = asyncio.Event()
        self.pace: Counter[str] = Counter()
        self.arrived: Counter[str] = Counter()

    @property
    def busy(self) -> Counter[Target]:
        """Counts the callbacks that wait or are being sent."""
        return +self.targets

    @property
    def unfinished(self) -> int:
        """Counts the callbacks that `wait` has not returned yet."""
        return self.in_flight + len(self.finished)

    def start(self, claimed: Iterable[Callback], *, at: datetime) -> None:
        if time.monotonic() >= self.until:
            self.headers_of.clear()
            self.until = time.monotonic() + TICK_SECONDS
            self.pace, self.arrived = self.arrived, Counter()
        for callback in claimed:
            self.in_flight += 1
            self.targets[callback.target] += 1
            self.all_finished.clear()
            self._queue(callback, at)

    async def wait(self) -> list[Sent]:
        """Waits for a tick. Stops waiting earlier if a callback is finished, but leaves other
        callbacks a moment to finish, too. Returns the finished callbacks."""
        await _within(TICK_SECONDS, self.some_finished)
        await _within(SETTLE_SECONDS, self.all_finished)
        for waiting in self.waiting.values():
            self._give_back(waiting, until=self.loop.time() - TURN_SECONDS)
        finished, self.finished = self.finished, []
        self.some_finished.clear()
        return finished

    def _queue(self, callback: Callback, at: datetime) -> None:
        """Prepares the request, and opens a slot for its host unless the host has PER_HOST
        slots."""
        kind, host = kinds.kind_of(callback), callback.host
        if kind.name not in self.headers_of:
            self.headers_of[kind.name] = kind.start_batch()
        try:
            url, body = callback.url, bytes(callback.body)
            headers = self.headers_of[kind.name](callback, at)
        except (AddressRefused, SecretUnreadable, NoSecret, Unreadable) as reason:
            self._finish(callback, HttpResult(error=str(reason)))
            return
        self.waiting[host].append(_Turn(callback, url, body, headers, self.loop.time()))
        if len(self.slots[host]) < PER_HOST:
            self.slots[host].add(self.loop.create_task(self._slot(host)))

    async def _slot(self, host: str) -> None:
        waiting = self.waiting[host]
        while waiting:
            turn = waiting.popleft()
            outcome = await self._send(turn)
            self._finish(turn.callback, outcome)
            if outcome.arrived:
                self.arrived[host] += 1
            else:
                self.pace[host] = self.arrived[host] = 0
                self._give_back(waiting, until=inf)
        self.slots[host].discard(asyncio.current_task())
        if not self.slots[host]:
            del self.slots[host], self.waiting[host]

    async def _send(self, turn: _Turn) -> HttpResult:
        headers, end = attempts.begin(turn.callback, turn.headers)
        try:
            result = await self.client.post(turn.url, body=turn.body, headers=headers)
        except Exception:
            log.exception(
                "A callback could not be sent because of an internal error",
                extra={"wake": {"callback_id": turn.callback.pk}},
            )
            text = "Wake failed to send this callback. The server's log says why."
            result = HttpResult(error=text)
        end(result)
        return result

    def _give_back(self, waiting: deque[_Turn], *, until: float) -> None:
        """Gives back the callbacks that have waited since before `until`."""
        while waiting and waiting[0].since < until:
            self._finish(waiting.popleft().callback, None)

    def _finish(self, callback: Callback, outcome: HttpResult | None) -> None:
        self.in_flight -= 1
        self.targets[callback.target] -= 1
        self.finished.append((callback, outcome))
        self.some_finished.set()
        if not self.in_flight:
            self.all_finished.set()


async def _opened(open_client: Callable[[], HttpClient]) -> HttpClient:
    return open_client()


async def _within(seconds: float, event: asyncio.Event) -> None:
    """Waits for the event, but not longer than `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class _Finished:
    """Collects attempts that arrived, because settling many takes as many statements as settling
    one. Until they are settled, their hosts already get the next callbacks. A failure is settled
    immediately, because it decides which callbacks may be sent to that host."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.pairs: list[Finished] = []
        self.settled = 0
        self.settled_at = time.monotonic()

    def add(self, results: Sequence[Sent]) -> None:
        """Adds the attempts that were sent, and gives the other callbacks back."""
        pairs = [(callback, outcome) for callback, outcome in results if outcome is not None]
        if len(pairs) < len(results):
            unsent = [callback for callback, outcome in results if outcome is None]
            give_back(unsent, at=self.clock())
        durations = [outcome.took_ms / 1000 for _, outcome in pairs if outcome.took_ms]
        callbacks_attempted.send(sender=Callback, durations=durations)
        self.pairs += pairs
        if (
            len(self.pairs) >= SETTLE_AT_ONCE
            or time.monotonic() - self.settled_at >= SETTLE_SECONDS
            or not all(outcome.arrived for _, outcome in pairs)
        ):
            self.settle()

    def settle(self) -> None:
        """Settles the collected attempts. If the database is away, the attempts are not settled.
        Their leases end, and the next sender sends the callbacks again, with the same ids."""
        pairs, self.pairs = self.pairs, []
        self.settled_at = time.monotonic()
        work = partial(settle, at=self.clock())
        self.settled += together(pairs, work, what="attempts of callbacks")


@contextmanager
def _only_sender() -> Iterator[bool]:
    """Allows only one sender on a machine, so that slow receivers occupy one process of a worker
    and not all. The kernel releases the lock of a process that dies, and locking a folder needs no
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
