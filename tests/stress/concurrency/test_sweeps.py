""" "a bulk request with `since` never misses a response"
(docs/protocol.md, Time, order, cursor)"""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Agent, AuditEvent, User
from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import at_once, retried
from tests.types import Age, Answer, MakeDelivery
from wake.deliveries import deliver
from wake.models import Callback, Delivery, Response
from wake.responses import release, release_due, respond

WRITERS, EACH = 7, 8


@pytest.mark.parametrize("limit", [1, 3, 200])
@pytest.mark.parametrize("status", [None, "approved,rejected,redirected"])
def test_a_sweep_misses_nothing_while_many_commit_with_delays(
    caller: AgentClient, agent: Agent, alice: User, limit: int, status: str | None
) -> None:
    finished = threading.Event()
    delivered: list[str] = []

    def write() -> None:
        dice = random.Random(threading.get_ident())  # noqa: S311 - dice, not secrets
        for _ in range(EACH):
            with transaction.atomic():
                delivery = _deliver(agent)
                time.sleep(dice.random() * 0.004)  # stamped, but not yet committed
            delivered.append(str(delivery.pk))
            response = respond(
                delivery,
                by=alice,
                status="approved",
                content_hash=delivery.content_hash,
                at=timezone.now(),
            )
            assert isinstance(response, Response)
            with transaction.atomic():
                release(response, at=timezone.now())
                time.sleep(dice.random() * 0.004)

    def write_all() -> None:
        try:
            at_once(*[write] * WRITERS)
        finally:
            finished.set()

    def sweep() -> list[dict[str, Any]]:
        swept: list[dict[str, Any]] = []
        query: dict[str, Any] = {"limit": limit, **({"status": status} if status else {})}
        while True:
            last_round = finished.is_set()
            page = retried(lambda: caller.get("responses", **query)).json()
            swept += page["deliveries"]
            if page["deliveries"]:
                query["since"] = page["next_since"]
            elif last_round:
                return swept

    _, swept = at_once(write_all, sweep)

    assert swept is not None
    answered = [item["delivery_id"] for item in swept if item["status"] == "approved"]
    assert len(delivered) == WRITERS * EACH
    assert sorted(answered) == sorted(delivered), "Each answer exactly once."


def _deliver(agent: Agent) -> Delivery:
    return deliver(
        agent,
        agent_id=agent.agent_id,
        provider="claude",
        type="output",
        headline="Ready",
        summary="Done.",
        at=timezone.now(),
    ).delivery


def test_stamps_are_in_commit_order(agent: Agent) -> None:
    """ "So commit order is cursor order" """
    committed: list[Delivery] = []
    lock = threading.Lock()

    def write() -> None:
        for _ in range(10):
            with lock, transaction.atomic():
                committed.append(_deliver(agent))

    at_once(*[write] * 6)

    stamps = [delivery.activity_at for delivery in committed]
    assert stamps == sorted(set(stamps))


def test_concurrent_sweeps_release_an_answer_once(
    caller: AgentClient,
    make_delivery: MakeDelivery,
    answer: Answer,
    age: Age,
    allowed_host: str,
) -> None:
    """ "by whichever comes first, the sweep or a read by that agent" """
    pks = [make_delivery(callback_webhook=f"https://{allowed_host}/").pk for _ in range(20)]
    for pk in pks:
        answer(str(pk), held=True)
        age(str(pk), seconds=60)

    counts = at_once(
        lambda: release_due(at=timezone.now()),
        lambda: release_due(at=timezone.now()),
        lambda: retried(lambda: caller.get("responses")).status_code,
        lambda: retried(lambda: caller.get("responses", status="approved")).status_code,
        *[
            lambda pk=pk: retried(lambda: caller.get(f"response/{pk}")).json()["status"]
            for pk in pks[:4]
        ],
    )

    assert counts[4:] == ["approved"] * 4
    assert not Response.objects.held().exists()
    assert Callback.objects.count() == 20
    stamps = Delivery.objects.values_list("activity_at", flat=True)
    assert len(set(stamps)) == 20
    assert set(Response.objects.values_list("responded_at", flat=True)) == set(stamps)
    picked_up = AuditEvent.objects.filter(event="response.picked_up")
    assert picked_up.count() == Response.objects.filter(picked_up_at__isnull=False).count()
    connection.close()
