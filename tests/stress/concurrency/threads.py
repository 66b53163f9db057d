"""Runs actions in threads that start at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connection

Made = TypeVar("Made")


class Failed(Exception):
    """Reports an error of one of the threads."""


def at_once(*actions: Callable[[], Made]) -> list[Made]:
    """Each in a thread of its own, all let go in the same moment; what they returned, in order."""
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

    threads = [threading.Thread(target=run, args=each) for each in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive(), "A thread hangs."
    if failures:
        raise Failed(repr(failures[0])) from failures[0]
    return [outcomes[number] for number in range(len(actions))]


def patiently(request: Callable[[], Any]) -> Any:
    """The answer, asked again where the server says 503, as its clients do; frees the connection,
    as a server does after each request."""
    while True:
        answer = request()
        connection.close()
        if answer.status_code != 503:
            return answer
