"""Runs actions in threads that start at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connection

Made = TypeVar("Made")


class Failed(Exception):
    """Reports an error of one of the threads."""


def at_once(*actions: Callable[[], Made], within_seconds: float = 300) -> list[Made]:
    """Starts each action in a thread of its own, all in the same moment. Returns what they
    returned, in order; fails when one is not done `within_seconds` of the one before it."""
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
