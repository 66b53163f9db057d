"""Receivers break a connection off, or fail for hours and then work again (docs/reliability.md,
Other promises, 2 and 5)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler

import pytest

from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.rows import again, due
from tests.wake.callbacks.test_http_client import break_off, close_politely, cut
from wake.callbacks.circuit_breaker import FAILURES
from wake.callbacks.host_limits import PER_HOST
from wake.callbacks.sending import send_due
from wake.models import Callback, Response


@pytest.mark.parametrize("behaviour", [cut, close_politely, break_off])
def test_a_receiver_that_disconnects_gets_the_same_body_again(
    receiver: Receiver, answered: Answered, behaviour: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    callback = answered()
    receiver.then(behaviour)

    assert send_due() == 1
    at = due(callback)
    assert send_due(clock=lambda: at) == 1

    first, second = receiver.received
    assert first.body == second.body == bytes(callback.body)
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == str(callback.pk)
    assert again(callback).delivered_at == at
    assert Response.objects.get().picked_up_at == at


@dataclass
class Crowd:
    """Answers with `status`, and counts how many requests came at the same time."""

    status: int
    inside: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.005)
        with self.lock:
            self.inside -= 1
        answering(self.status)(request)


def test_a_receiver_that_was_down_gets_its_callbacks_spread_out(
    receiver: Receiver, answered: Answered
) -> None:
    """Time is scaled: each round is the instant at which the next callback is due."""
    callbacks = [answered() for _ in range(120)]
    crowd = Crowd(status=500)
    receiver.then(*[crowd] * 1_000)
    start = due(callbacks[-1])

    rounds = _until(lambda at: at > start + timedelta(hours=6))
    during = len(receiver.received)
    crowd.status = 200
    _until(lambda at: False)

    assert rounds > 20
    assert during < PER_HOST + FAILURES + rounds, "One at a time asks whether it is back."
    assert crowd.most <= PER_HOST
    arrived = receiver.received[during:]
    assert {arrival.body for arrival in arrived} == {bytes(each.body) for each in callbacks}
    assert len(arrived) == len(callbacks)
    assert Callback.objects.filter(delivered_at__isnull=False).count() == len(callbacks)


def _until(is_enough: Callable[[datetime], bool]) -> int:
    """Sends whenever a callback is due and returns the number of rounds."""
    rounds = 0
    while first := Callback.objects.unfinished().order_by("due_at").first():
        at = due(first)
        if is_enough(at):
            break
        send_due(clock=lambda at=at: at)  # type: ignore[misc]
        rounds += 1
    return rounds
