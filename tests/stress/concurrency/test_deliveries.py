"""Concurrent deliveries respect idempotency, quotas and revoked keys."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.stress.concurrency.threads import at_once, retried
from wake.models import Delivery

pytestmark = pytest.mark.slow


def test_the_same_idempotency_key_a_hundred_times_at_once(caller: AgentClient, key: ApiKey) -> None:
    body, once = caller.payload(), {"Idempotency-Key": "report-42"}

    answers = at_once(*[lambda: retried(lambda: caller.post(body, **once))] * 100)

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert [answer.has_header("Idempotency-Replayed") for answer in answers].count(False) == 1
    assert Delivery.objects.count() == 1
    remaining = int(caller.post(body)["X-RateLimit-Remaining"])
    assert remaining >= 48, "Two of fifty were spent; a token comes back every 7.2 seconds."


def test_after_a_withdrawal_equal_requests_make_one_delivery(caller: AgentClient) -> None:
    body, once = caller.payload(), {"Idempotency-Key": "report-42"}
    withdrawn = caller.post(body, **once).json()["delivery_id"]

    answers = at_once(
        lambda: retried(lambda: caller.withdraw(withdrawn)),
        *[lambda: retried(lambda: caller.post(body, **once))] * 20,
    )
    caller.post(body, **once)

    assert {answer.status_code for answer in answers} == {200, 201}
    assert Delivery.objects.filter(withdrawn_at=None).count() == 1
    assert Delivery.objects.count() == 2


def test_of_two_bodies_with_one_idempotency_key_one_wins(caller: AgentClient) -> None:
    for number in range(8):
        once = {"Idempotency-Key": str(number)}

        codes = at_once(
            *[
                lambda text=text, once=once: (
                    retried(lambda: caller.post(caller.payload(summary=text), **once)).status_code
                )
                for text in ("one", "two", "two", "one")
            ]
        )

        assert sorted(codes) == [201, 201, 422, 422]
    assert Delivery.objects.count() == 8


def test_the_quota_is_exact_across_threads(in_test_mode: AgentClient) -> None:
    """ "exact across processes and needs no Redis" """
    codes = at_once(
        *[lambda: retried(lambda: in_test_mode.post(in_test_mode.payload())).status_code] * 40
    )

    assert Counter(codes) == {201: 5, 429: 35}
    assert Delivery.objects.count() == 5


def test_the_quota_is_exact_across_processes(in_test_mode: AgentClient) -> None:
    with served("asgi") as first, served("wsgi") as second:

        def post(origin: str) -> int:
            while True:
                answer = httpx.post(
                    f"{origin}/wake/v1/deliver",
                    headers=in_test_mode.headers,
                    json=in_test_mode.payload(),
                    timeout=60,
                )
                if answer.status_code != 503:
                    return answer.status_code

        codes = at_once(*[lambda o=origin: post(o) for origin in [first, second] * 12])

    assert Counter(codes) == {201: 5, 429: 19}
    assert Delivery.objects.count() == 5


def test_a_revoked_key_delivers_nothing_afterwards(
    caller: AgentClient, key: ApiKey, settings: Any
) -> None:
    """ "A key revoked in flight" (docs/reliability.md, Other promises, 9)"""
    settings.WAKE_QUOTA_LIVE = (36_000_000, 10_000_000)  # so that no quota ends the deliveries
    revoked = threading.Event()
    started = threading.Barrier(5)

    def keep_sending() -> list[tuple[bool, int]]:
        codes: list[tuple[bool, int]] = []
        started.wait(30)
        while not codes or codes[-1][1] == 201:
            was_revoked = revoked.is_set()
            codes.append((was_revoked, retried(lambda: caller.post(caller.payload())).status_code))
        return codes

    def revoke() -> list[tuple[bool, int]]:
        started.wait(30)
        keys.revoke(key, by=SYSTEM, at=timezone.now())
        revoked.set()
        return []

    codes = [each for sender in at_once(*[keep_sending] * 4, revoke) for each in sender]

    assert {code for _, code in codes} <= {201, 401}
    assert {code for was_revoked, code in codes if was_revoked} <= {401}
    assert Delivery.objects.count() == sum(code == 201 for _, code in codes)


def test_rotations_during_deliveries_lose_none(caller: AgentClient, key: ApiKey) -> None:
    """A rotation used to lock the key first, and a delivery used to lock the agent first. So a
    rotation and a delivery could each wait for the other."""

    def send() -> list[int]:
        return [retried(lambda: caller.post(caller.payload())).status_code for _ in range(8)]

    def rotate() -> list[int]:
        for _ in range(20):
            keys.rotate(key, by=SYSTEM, overlap=timedelta(hours=1), at=timezone.now())
        return []

    codes = [code for sender in at_once(send, send, send, rotate, send) for code in sender]

    assert codes == [201] * 32
    assert ApiKey.objects.count() == 21
