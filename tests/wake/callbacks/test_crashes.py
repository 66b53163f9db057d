"""Killed and concurrent senders lose no callback, and an answer can be taken back meanwhile."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User
from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering, slowly
from tests.wake.callbacks.rows import again, answer_in, due
from tests.wake.callbacks.world import World, eventually
from wake.callbacks.attempts import claim
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, Response
from wake.undo import PickedUp, take_back

pytestmark = pytest.mark.system


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Returns the result of each action, or the exception that ended it."""
    together = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        try:
            together.wait(10)
            return work()
        except Exception as problem:
            return problem
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_either_undone_or_sent_never_both(
    answered: Answered, alice: User, receiver: Receiver
) -> None:
    ends = set()
    for _ in range(12):
        callback = answered()
        at = due(callback)
        delivery = answer_in(callback).delivery

        claimed, taken_back = at_once(
            lambda at=at: claim(at=at),  # type: ignore[misc]
            lambda delivery=delivery: take_back(delivery, by=alice, at=timezone.now()),  # type: ignore[misc]
        )

        if isinstance(taken_back, PickedUp):
            assert claimed == [callback]
            assert answer_in(again(callback)).sent_at == at
            ends.add("sent")
        else:
            assert taken_back.delivery_id == delivery.pk
            assert claimed == []
            assert not Response.objects.filter(delivery=delivery).exists()
            ends.add("taken back")
        Callback.objects.all().delete()
    assert ends <= {"sent", "taken back"}


@pytest.mark.django_db(transaction=True)
def test_concurrent_senders_claim_every_row_once(answered: Answered) -> None:
    callbacks = [answered() for _ in range(16)]
    at = due(callbacks[-1])

    claims = at_once(*[lambda: claim(at=at, room=5)] * 4)

    pks = [callback.pk for claimed in claims for callback in claimed]
    assert len(pks) == len(set(pks))
    rest = claim(at=at)
    assert sorted(pks + [each.pk for each in rest]) == sorted(each.pk for each in callbacks)
    assert set(Callback.objects.values_list("tries", flat=True)) == {1}


@pytest.mark.django_db(transaction=True)
def test_a_second_sender_on_a_machine_leaves_the_rows_to_the_first(
    answered: Answered, receiver: Receiver
) -> None:
    for _ in range(3):
        answered()
    receiver.then(*[slowly(0.5)] * 3)

    first, second = sorted(at_once(send_due, send_due))

    assert (first, second) == (0, 3)
    assert len(receiver.received) == 3


@pytest.mark.django_db(transaction=True)
def test_a_sender_out_of_time_lets_another_claim(answered: Answered, receiver: Receiver) -> None:
    slow, is_over = answered(), Event()

    def until_it_is_over(request: BaseHTTPRequestHandler) -> None:
        is_over.wait()
        answering(200)(request)

    receiver.then(until_it_is_over)

    def late() -> int:
        try:
            assert eventually(lambda: receiver.received, seconds=60)
            quick = answered()
            assert eventually(send_due, seconds=60)
            assert again(quick).delivered_at is not None
            return CallbackAttempt.objects.count()
        finally:
            is_over.set()

    first, attempts_meanwhile = at_once(lambda: send_due(seconds=0.05), late)

    assert (first, attempts_meanwhile) == (1, 1)
    assert again(slow).delivered_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_bulk_read_and_a_claim_of_the_same_answers_do_not_lock_each_other_out(
    answered: Answered, caller: Any
) -> None:
    for _ in range(6):
        callbacks = [answered() for _ in range(8)]
        at = due(callbacks[-1])

        claimed, swept = at_once(
            lambda at=at: claim(at=at),  # type: ignore[misc]
            lambda: caller.sweep(limit=200, status="approved"),
        )

        assert not isinstance(claimed, Exception)
        assert {str(answer_in(each).delivery_id) for each in callbacks} <= {
            item["delivery_id"] for item in swept["deliveries"]
        }


A_SENDER_THAT_CAN_BE_KILLED = """
import os
from django.db import connections
from wake.callbacks import sending

def start_sender():
    connections["default"].close()
    if connection.vendor == "postgresql":
        connections["default"].close_pool()
    child = os.fork()
    if child == 0:
        try:
            sending.send_due()
        finally:
            os._exit(0)
    return child

def bury(child):
    os.waitpid(child, 0)
    # What was under way has no sender any more: its minute goes by, and so do the pauses.
    Callback.objects.filter(due_at__isnull=False).update(leased_until=None, due_at=timezone.now())
"""


def test_killed_senders_lose_and_change_nothing(
    make_world: Callable[..., World], start_receiver: Callable[..., Receiver]
) -> None:
    chance = random.Random(7)  # noqa: S311 - it protects no secret
    receiver = start_receiver()
    receiver.then(*[slowly(chance.uniform(0.01, 0.1)) for _ in range(500)])
    world = make_world(hold_seconds=0)
    world.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    world.run(A_SENDER_THAT_CAN_BE_KILLED)
    acknowledged: list[str] = []

    for _ in range(8):
        acknowledged += world.run(f"result = [answered({receiver.url!r}) for _ in range(10)]")
        enough = len(receiver.received) + chance.randint(1, 8)
        sender = world.run("result = start_sender()")
        assert eventually(lambda enough=enough: len(receiver.received) >= enough, seconds=60)  # type: ignore[misc]
        os.kill(sender, signal.SIGKILL)
        world.run(f"bury({sender})")
    world.run("sending.send_due()")

    ids = [arrival.headers["X-Wake-Delivery-Id"] for arrival in receiver.received]
    # Some callbacks arrived twice, so some kills came in the middle of attempts.
    assert len(ids) > len(acknowledged)
    assert set(ids) == set(acknowledged)
    same = {(each.headers["webhook-id"], each.json["delivery_id"]) for each in receiver.received}
    assert len(same) == len({arrival.body for arrival in receiver.received}) == len(acknowledged)
    ends = world.run("result = list(Callback.objects.values_list('delivered_at', 'given_up_at'))")
    assert all(delivered and not given_up for delivered, given_up in ends)
    assert world.run("result = Response.objects.filter(picked_up_by='webhook').count()") == 80
