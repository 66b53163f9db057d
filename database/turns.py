"""Shares a few turns equally between callers, so that a burst of one caller delays no other
(docs/decisions/0089-callers-take-turns.md).

Requests take turns to run, and threads take turns for connections to the database.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import NamedTuple

import psycopg
from django.db import connection
from django.dispatch import Signal

MAX_WAITING = 1_000
TURN_SECONDS = 10.0

# Has the arguments `name`, of the turns, and `seconds`, for which the caller waited. The signal is
# not sent if a turn was free.
turn_taken = Signal()


class NoTurn(psycopg.OperationalError):
    """Every turn is taken, and the next one is too far away."""

    def __init__(self) -> None:
        super().__init__("Every turn is taken, and the next one is too far away.")


class TurnTaker(NamedTuple):
    """Says who takes a turn. Groups get equal shares, and so do the members of a group."""

    group: str = ""
    member: str = ""


class Turns:
    """Hands out a number of turns. If none is free, a caller waits at most `seconds`. At most
    `max_waiting` turns are waited for. `name` says what the turns are for."""

    def __init__(
        self,
        name: str,
        number: int,
        *,
        seconds: float = TURN_SECONDS,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self.name = name
        self.seconds = seconds
        self._lock = threading.Lock()
        self._free = number
        self._queue = FairQueue()
        self._max_waiting = max_waiting

    def fail_those_who_wait(self, message: str) -> None:
        """Raises OperationalError for every waiting caller. Otherwise, while the database is away,
        each would find out for itself, one after the other."""
        with self._lock:
            while len(self._queue):
                self._queue.pop_next().fail(psycopg.OperationalError(message))

    def enter(self, caller: TurnTaker, call: Callable[[], object]) -> Waiter | None:
        """Takes a free turn and returns None, or returns a waiter. `call` is called once, when the
        waiter has its turn or an error."""
        with self._lock:
            if self._free:
                self._free -= 1
                self._queue.count_turn(caller, 1)
                return None
            waiter = Waiter(caller, call)
            self._queue.append(waiter)
            if len(self._queue) > self._max_waiting:
                self._queue.pop_excess().fail(NoTurn())
            return waiter

    def settle(self, waiter: Waiter) -> None:
        """Raises the waiter's error, or NoTurn if it still waits. Otherwise it has its turn."""
        with self._lock:
            if waiter.is_waiting:
                self._queue.remove(waiter)
                raise NoTurn
        if waiter.error is not None:
            raise waiter.error

    def release(self, caller: TurnTaker) -> None:
        """Hands the caller's turn to the next waiter, if there is one."""
        with self._lock:
            # The caller's own turn still counts, so that others who have none come first.
            waiter = self._queue.pop_next() if len(self._queue) else None
            self._queue.count_turn(caller, -1)
            if waiter is None:
                self._free += 1
            else:
                self._queue.count_turn(waiter.caller, 1)
                waiter.call()


class Turn:
    """A turn of one caller, who may give it back while it waits for something else, and take it
    again."""

    def __init__(self, turns: Turns, caller: TurnTaker) -> None:
        self.caller = caller
        self._turns = turns
        self._lock = threading.Lock()
        self.is_held = self._has_ended = False

    def take(self) -> None:
        """Waits in this thread. Raises NoTurn, or the error of `fail_those_who_wait`."""
        called = threading.Event()
        waiter = self._turns.enter(self.caller, called.set)
        if waiter is None:
            self._hold()
            return
        began_at = time.monotonic()
        called.wait(self._turns.seconds)
        self._settle(waiter, began_at)

    async def arrive(self) -> None:
        """Waits in the event loop. Raises NoTurn."""
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        call = partial(loop.call_soon_threadsafe, called.set)
        waiter = self._turns.enter(self.caller, call)
        if waiter is None:
            self._hold()
            return
        began_at = time.monotonic()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._turns.seconds):
                    await called.wait()
        except asyncio.CancelledError:
            with suppress(psycopg.OperationalError):
                self._turns.settle(waiter)
                self._turns.release(self.caller)
            raise
        self._settle(waiter, began_at)

    def give_back(self) -> None:
        with self._lock:
            was_held, self.is_held = self.is_held, False
        if was_held:
            self._turns.release(self.caller)

    def end(self) -> None:
        """Gives the turn back for good, even if another thread is about to take it again."""
        with self._lock:
            self._has_ended = True
        self.give_back()

    def _hold(self) -> None:
        with self._lock:
            self.is_held = not self._has_ended
        if not self.is_held:
            self._turns.release(self.caller)

    def _settle(self, waiter: Waiter, began_at: float) -> None:
        self._turns.settle(waiter)
        self._hold()
        turn_taken.send(Turns, name=self._turns.name, seconds=time.monotonic() - began_at)


class Waiter:
    """Waits for a turn of its caller. `error` is why the waiter does not get the turn."""

    def __init__(self, caller: TurnTaker, call: Callable[[], object]) -> None:
        self.caller = caller
        self.is_waiting = True
        self.error: psycopg.OperationalError | None = None
        self._call = call

    def call(self) -> None:
        self.is_waiting = False
        self._call()

    def fail(self, error: psycopg.OperationalError) -> None:
        self.error = error
        self.call()


class FairQueue:
    """Orders waiters. The next turn goes to the group that has the fewest turns, and in this group
    to the member that has the fewest. Groups or members with equally few turns alternate."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, deque[Waiter]]] = {}
        self._length = 0
        # How many turns each group and each caller has.
        self._turns: Counter[str | TurnTaker] = Counter()

    def __len__(self) -> int:
        return self._length

    def count_turn(self, caller: TurnTaker, change: int) -> None:
        for name in (caller.group, caller):
            self._turns[name] += change
            if not self._turns[name]:
                del self._turns[name]

    def append(self, waiter: Waiter) -> None:
        members = self._lines.setdefault(waiter.caller.group, {})
        members.setdefault(waiter.caller.member, deque()).append(waiter)
        self._length += 1

    def pop_next(self) -> Waiter:
        group = min(self._lines, key=lambda group: self._turns[group])
        members = self._lines.pop(group)
        member = min(members, key=lambda member: self._turns[TurnTaker(group, member)])
        line = members.pop(member)
        waiter = line.popleft()
        # A caller who had a turn goes to the end, and `min` returns the first of several.
        if line:
            members[member] = line
        if members:
            self._lines[group] = members
        self._length -= 1
        return waiter

    def pop_excess(self) -> Waiter:
        """Removes the newest waiter of the member with the most waiters, in the group with the
        most. So a caller that fills the queue takes no place of others."""
        group = max(self._lines, key=lambda group: sum(map(len, self._lines[group].values())))
        line = max(self._lines[group].values(), key=len)
        self.remove(waiter := line[-1])
        return waiter

    def remove(self, waiter: Waiter) -> None:
        group, member = waiter.caller
        self._lines[group][member].remove(waiter)
        if not self._lines[group][member]:
            del self._lines[group][member]
        if not self._lines[group]:
            del self._lines[group]
        self._length -= 1


# The turn of the request that runs in this context.
current: ContextVar[Turn | None] = ContextVar("turn", default=None)


def current_caller() -> TurnTaker:
    """Returns who sent the request that runs in this context. Jobs and commands are one caller."""
    turn = current.get()
    return turn.caller if turn else TurnTaker()


@asynccontextmanager
async def another_turn() -> AsyncIterator[None]:
    """Takes a turn for the next part of an answer that has begun. If no turn is free, goes on
    without one, because otherwise the answer would be cut off."""
    turn = current.get()
    if turn is None:
        yield
        return
    with suppress(NoTurn):
        await turn.arrive()
    try:
        yield
    finally:
        turn.give_back()


@contextmanager
def released() -> Iterator[None]:
    """Gives the connection and the turn of the present request back while it waits for something
    else. If no turn is free afterwards, the request goes on without one, because it is worth
    finishing. A transaction keeps its connection."""
    if not connection.in_atomic_block:
        connection.close()
    turn = current.get()
    if turn is None or not turn.is_held:
        yield
        return
    turn.give_back()
    try:
        yield
    finally:
        with suppress(NoTurn):
            turn.take()
