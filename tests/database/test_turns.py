"""Turns are shared equally between groups of callers, and between the callers of a group."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import psycopg
import pytest

from database import turns
from database.outages import is_away, is_busy
from database.turns import (
    FairQueue,
    NoTurn,
    Turn,
    Turns,
    TurnTaker,
    Waiter,
    another_turn,
    released,
    turn_taken,
)

pytestmark = pytest.mark.once
A, B = TurnTaker("team 1", "a"), TurnTaker("team 1", "b")


def queue_of(*callers: TurnTaker) -> FairQueue:
    queue = FairQueue()
    for caller in callers:
        queue.append(Waiter(caller, bool))
    return queue


def served(queue: FairQueue, *, number: int = 0) -> list[TurnTaker]:
    """Hands turns out that are never given back. Returns who gets them, in this order."""
    callers = []
    for _ in range(number or len(queue)):
        callers.append(queue.pop_next().caller)
        queue.count_turn(callers[-1], 1)
    return callers


def taken(all_turns: Turns, caller: TurnTaker = A) -> Turn:
    turn = Turn(all_turns, caller)
    turn.take()
    return turn


def waiting(all_turns: Turns, action: Callable[[], None]) -> threading.Thread:
    """Starts a thread that waits for its turn, and returns once it waits."""
    before = len(all_turns._queue)
    thread = threading.Thread(target=copy_context().run, args=[action])
    thread.start()
    while len(all_turns._queue) == before:
        time.sleep(0.001)
    return thread


def test_a_caller_behind_a_hundred_of_another_is_next_but_one() -> None:
    queue = queue_of(*[A] * 100, B)

    assert served(queue, number=3) == [A, B, A]


def test_one_caller_alone_has_all_turns_in_order_of_arrival() -> None:
    queue = FairQueue()
    waiters = [Waiter(A, bool) for _ in range(5)]
    for waiter in waiters:
        queue.append(waiter)

    assert [queue.pop_next() for _ in range(5)] == waiters


def test_the_next_turn_goes_to_the_caller_with_the_fewest() -> None:
    """Otherwise a caller whose requests take long would soon have all turns."""
    queue = queue_of(A, A, B, B, B, B)
    for _ in range(3):
        queue.count_turn(A, 1)

    assert served(queue) == [B, B, B, A, B, A]


def test_made_up_keys_of_one_address_share_the_turns_of_the_address() -> None:
    forged = [TurnTaker("192.0.2.1", f"forged {number}") for number in range(100)]
    team, person = TurnTaker("team 1", "key"), TurnTaker("person 1", "session")

    order = served(queue_of(*forged, team, team, person), number=6)

    assert order == [forged[0], team, person, forged[1], team, forged[2]]


def test_counts_of_callers_without_turns_take_no_memory() -> None:
    queue = queue_of(A, B)

    for caller in served(queue):
        queue.count_turn(caller, -1)

    assert not queue._turns
    assert not queue._lines


def test_a_full_queue_refuses_the_caller_who_fills_it() -> None:
    all_turns, called = Turns("request", 1, max_waiting=10), list[str]()
    taken(all_turns)
    flood = [all_turns.enter(A, lambda: called.append("flood")) for _ in range(10)]

    other = all_turns.enter(B, lambda: called.append("other"))

    assert called == ["flood"]
    assert [isinstance(waiter and waiter.error, NoTurn) for waiter in flood] == [*[False] * 9, True]
    all_turns.release(A)
    assert called == ["flood", "other"]
    assert other is not None
    assert other.error is None


def test_the_number_of_waiting_threads_is_limited() -> None:
    all_turns = Turns("request", 1, max_waiting=1)
    turn = taken(all_turns)
    thread = waiting(all_turns, lambda: taken(all_turns).give_back())

    with pytest.raises(NoTurn):
        taken(all_turns)

    turn.give_back()
    thread.join(10)


def test_a_signal_says_how_long_a_thread_waited() -> None:
    all_turns, waits = Turns("database", 1), list[tuple[str, float]]()

    def note(*, name: str, seconds: float, **_: Any) -> None:
        waits.append((name, seconds))

    turn_taken.connect(note)
    turn = taken(all_turns)
    thread = waiting(all_turns, lambda: taken(all_turns, B).give_back())

    turn.give_back()
    thread.join(10)
    turn_taken.disconnect(note)

    ((name, seconds),) = waits
    assert name == "database"
    assert seconds > 0


def test_a_turn_that_times_out_goes_to_the_next_thread() -> None:
    all_turns = Turns("request", 1, seconds=0.01)
    turn = taken(all_turns)

    with pytest.raises(NoTurn) as raised:
        taken(all_turns)

    turn.give_back()
    taken(all_turns)
    assert (is_away(raised.value), is_busy(raised.value)) == (False, True)


def test_an_outage_ends_every_wait_at_once() -> None:
    all_turns, failures = Turns("request", 1), list[psycopg.OperationalError]()
    taken(all_turns)

    def work() -> None:
        try:
            taken(all_turns)
        except psycopg.OperationalError as failure:
            failures.append(failure)

    threads = [waiting(all_turns, work) for _ in range(3)]
    all_turns.fail_those_who_wait("connection refused")
    for thread in threads:
        thread.join(10)

    assert [str(failure) for failure in failures] == ["connection refused"] * 3
    assert all(is_away(failure) for failure in failures)


def test_a_task_waits_for_a_turn_that_a_thread_gives_back() -> None:
    all_turns = Turns("request", 1)
    turn = taken(all_turns)

    async def wait() -> Turn:
        other = Turn(all_turns, B)
        arriving = asyncio.create_task(other.arrive())
        await asyncio.sleep(0)
        await asyncio.to_thread(turn.give_back)
        await arriving
        return other

    other = asyncio.run(wait())

    assert other.is_held


def test_a_task_that_waits_too_long_gets_no_turn() -> None:
    all_turns = Turns("request", 1, seconds=0.01)
    turn = taken(all_turns)

    with pytest.raises(NoTurn):
        asyncio.run(Turn(all_turns, B).arrive())

    turn.give_back()
    taken(all_turns)  # the turn is free again


@pytest.mark.parametrize("is_handed_out", [False, True])
def test_the_turn_of_a_cancelled_task_is_not_lost(is_handed_out: bool) -> None:
    all_turns = Turns("request", 1, seconds=0.1)
    turn = taken(all_turns)

    async def cancel() -> None:
        arriving = asyncio.create_task(Turn(all_turns, B).arrive())
        await asyncio.sleep(0)
        if is_handed_out:
            turn.give_back()
        arriving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await arriving

    asyncio.run(cancel())
    turn.give_back()

    taken(all_turns)


def test_a_request_gives_its_turn_back_while_it_waits() -> None:
    all_turns = Turns("request", 1, seconds=0.1)
    turn = taken(all_turns)

    def work() -> None:
        turns.current.set(turn)
        with released():
            taken(all_turns, B).give_back()

    copy_context().run(work)

    assert turn.is_held


def test_a_request_goes_on_if_no_turn_is_free_after_it_waited() -> None:
    all_turns = Turns("request", 1, seconds=0.01)
    turn = taken(all_turns)

    def work() -> None:
        turns.current.set(turn)
        with released():
            taken(all_turns, B)

    copy_context().run(work)

    assert not turn.is_held


def test_each_part_of_an_answer_takes_a_turn() -> None:
    all_turns = Turns("request", 1)
    turn, held = Turn(all_turns, A), list[bool]()

    async def send() -> None:
        turns.current.set(turn)
        async with another_turn():
            held.append(turn.is_held)
        held.append(turn.is_held)

    asyncio.run(send())

    assert held == [True, False]


def test_a_turn_that_has_ended_is_not_held_again() -> None:
    """A client may leave while the thread of its request waits to take the turn again."""
    all_turns = Turns("request", 1, seconds=1)
    first, turn = taken(all_turns), Turn(all_turns, B)
    thread = waiting(all_turns, turn.take)

    turn.end()
    first.give_back()
    thread.join(10)

    taken(all_turns)
    assert not turn.is_held
