"""Runs actions in threads that start at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connection

Made = TypeVar("Made")


class Failed(Exception):
    """Reports an error of one of the threads."""


def at_once(*actions: Callable[[], Made], within_seconds: float = 300) -> list[Made]:
    """Starts each action in a thread of its own, all in the same moment. Returns their results in
    order. Fails if a thread still runs `within_seconds` after the thread before it in the order has
    ended."""
    gate = threading.Barrier(len(actions))
    outcomes: dict[int, Any] = {}
    failures: list[BaseException] = []

    def run(number: int, action: Callable[[], Made]) -> None:
        try:
            gate.wait(30)
            outcomes[number] = action()
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=run, args=each, daemon=True)  # so that a failed run ends
        for each in enumerate(actions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(within_seconds)
        assert not thread.is_alive(), "A thread hangs."
    if failures:
        raise Failed(repr(failures[0])) from failures[0]
    return [outcomes[number] for number in range(len(actions))]


def retried(request: Callable[[], Any]) -> Any:
    """Sends the request again after a 503, as clients do, and returns the answer. Frees the
    connection, as a server does after each request."""
    while True:
        answer = request()
        connection.close()
        if answer.status_code != 503:
            return answer


def wait_for_a_lock() -> None:
    """Waits until another connection waits for a lock of this transaction, on PostgreSQL."""
    until = time.monotonic() + 30
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE NOT granted"
                " AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            )
            if cursor.fetchone() != (0,):
                return
            time.sleep(0.01)
    raise AssertionError("The action waits for no lock.")
