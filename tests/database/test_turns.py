"""Threads wait for a connection of the pool in the order in which they came."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from database.outages import is_away, is_busy
from database.postgresql.turns import NoTurn, Turns


def waiting(turns: Turns, action: Callable[[], None]) -> threading.Thread:
    """Starts a thread that waits for its turn, and returns once it waits."""
    before = len(turns._waiting)
    thread = threading.Thread(target=action)
    thread.start()
    while len(turns._waiting) == before:
        time.sleep(0.001)
    return thread


def test_turns_are_taken_in_the_order_of_arrival() -> None:
    turns, order = Turns(1), list[int]()
    turns.take()

    def work(number: int) -> None:
        turns.take()
        order.append(number)
        turns.give_back()

    threads = [waiting(turns, lambda number=number: work(number)) for number in range(5)]  # type: ignore[misc]
    turns.give_back()
    for thread in threads:
        thread.join(10)

    assert order == [0, 1, 2, 3, 4]
    turns.take()  # the turn is free again


def test_the_number_of_waiting_threads_is_limited() -> None:
    turns = Turns(1, waiting_at_most=1)
    turns.take()
    thread = waiting(turns, turns.take)

    with pytest.raises(NoTurn):
        turns.take()

    turns.give_back()
    thread.join(10)


def test_a_turn_that_times_out_goes_to_the_next_thread() -> None:
    turns = Turns(1, seconds=0.01)
    turns.take()

    with pytest.raises(NoTurn) as raised:
        turns.take()

    turns.give_back()
    turns.take()
    assert (is_away(raised.value), is_busy(raised.value)) == (False, True)


def test_an_outage_ends_every_wait_at_once() -> None:
    turns, failures = Turns(1), list[psycopg.OperationalError]()
    turns.take()

    def work() -> None:
        try:
            turns.take()
        except psycopg.OperationalError as failure:
            failures.append(failure)

    threads = [waiting(turns, work) for _ in range(3)]
    turns.fail_those_who_wait("connection refused")
    for thread in threads:
        thread.join(10)

    assert [str(failure) for failure in failures] == ["connection refused"] * 3
    assert all(is_away(failure) for failure in failures)
