"""Lets threads wait for a connection in order of arrival."""

from __future__ import annotations

import threading
from collections import deque

import psycopg

MAX_WAITING = 1_000
TURN_SECONDS = 10.0


class NoTurn(psycopg.OperationalError):
    """Every connection to the database is in use, and the next turn is too far away."""

    def __init__(self) -> None:
        super().__init__("Every connection to the database is in use.")


class Turns:
    """Hands out as many turns as the pool has connections. A thread takes a turn and gives it
    back."""

    def __init__(
        self, number: int, *, seconds: float = TURN_SECONDS, waiting_at_most: int = MAX_WAITING
    ) -> None:
        self._lock = threading.Lock()
        self._free = number
        self._waiting: deque[_Waiter] = deque()
        self._seconds = seconds
        self._waiting_at_most = waiting_at_most

    def take(self) -> None:
        """Waits for a turn; raises NoTurn, or the error of `fail_those_who_wait`."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            if len(self._waiting) >= self._waiting_at_most:
                raise NoTurn
            waiter = _Waiter()
            self._waiting.append(waiter)
        if not waiter.called.wait(self._seconds):
            with self._lock:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)
                    raise NoTurn
        if waiter.error is not None:
            raise waiter.error

    def give_back(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().called.set()
            else:
                self._free += 1

    def fail_those_who_wait(self, message: str) -> None:
        """Raises OperationalError in every waiting thread. Otherwise, while the database is away,
        each thread would find out for itself, one after the other."""
        with self._lock:
            while self._waiting:
                waiter = self._waiting.popleft()
                waiter.error = psycopg.OperationalError(message)
                waiter.called.set()


class _Waiter:
    def __init__(self) -> None:
        self.called = threading.Event()
        self.error: psycopg.OperationalError | None = None
