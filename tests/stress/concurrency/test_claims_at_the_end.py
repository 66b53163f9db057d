"""A key ends, or an agent is paused, while a claim waits for a row. Afterwards no approval is used
(docs/protocol.md, Claim)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.agents import gates, keys, quota, registration
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Gate, Team
from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import wait_for_a_lock
from tests.types import Answer
from wake import claims
from wake.claims import Claimant
from wake.models import Claim, Delivery

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time"),
]
Made = TypeVar("Made")
# The tests wait this long to see that the end of a right waits for a claim.
A_MOMENT_SECONDS = 0.5
ENDS: dict[str, tuple[str, Callable[..., object]]] = {
    "an agent's key is revoked": ("key", keys.revoke),
    "an agent's key is rotated": (
        "key",
        lambda key, **now: keys.rotate(key, overlap=timedelta(), **now),
    ),
    "a gate key is revoked": ("gate", gates.revoke),
    "the agent of a key is paused": (
        "key",
        lambda key, **now: registration.pause(key.agent, **now),
    ),
    "the agent of a gate is archived": (
        "gate",
        lambda gate, **now: registration.archive(gate.agents.get(), **now),
    ),
}


@pytest.fixture
def gate(team: Team, agent: Agent) -> Gate:
    return gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=timezone.now())[0]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture(params=ENDS)
def ending(request: Any, key: ApiKey, gate: Gate) -> tuple[Claimant, Callable[[], object]]:
    """Returns who claims, and the action that ends their right to claim."""
    who, end = ENDS[request.param]
    holder: Any = {"key": key, "gate": gate}[who]
    return Claimant(**{who: holder}), lambda: end(holder, by=SYSTEM, at=timezone.now())


@pytest.fixture
def approved(caller: AgentClient, answer: Answer) -> Delivery:
    pk = caller.deliver(type="question", digest=True)
    answer(pk)
    return Delivery.objects.get(pk=pk)


def claiming(claimant: Claimant, delivery: Delivery) -> Callable[[], str]:
    def claim() -> str:
        at, digest = timezone.now(), delivery.content_hash
        try:
            made = claims.claim(claimant, delivery.pk, digest=digest, at=at)
        except (quota.KeyEnded, quota.AgentPaused):
            return "refused"
        assert made
        return "claimed"

    return claim


def start(threads: ThreadPoolExecutor, action: Callable[[], Made]) -> Future[Made]:
    def act() -> Made:
        try:
            return action()
        finally:
            connection.close()

    return threads.submit(act)


def claim_while_it_ends(
    claimant: Claimant, end: Callable[[], object], delivery: Delivery, threads: ThreadPoolExecutor
) -> None:
    """Lets a claim wait for the delivery, and ends the right to claim meanwhile. If that end is
    acknowledged before the claim, the claim is refused."""
    with transaction.atomic():
        Delivery.objects.select_for_update(of=("self",)).get(pk=delivery.pk)
        claimed = start(threads, claiming(claimant, delivery))
        wait_for_a_lock()
        ended = start(threads, end)
        has_ended = bool(wait([ended], A_MOMENT_SECONDS).done)

    assert claimed.result(30) == ("refused" if has_ended else "claimed")
    assert Claim.objects.exists() != has_ended
    ended.result(30)


def test_the_right_ends_during_a_claim(
    ending: tuple[Claimant, Callable[[], object]], approved: Delivery, threads: ThreadPoolExecutor
) -> None:
    claim_while_it_ends(*ending, approved, threads)


def test_the_right_ends_during_a_claim_that_locks_newer_versions(
    gate: Gate, caller: AgentClient, approved: Delivery, threads: ThreadPoolExecutor
) -> None:
    caller.deliver(type="question", supersedes=str(approved.pk))

    claim_while_it_ends(
        Claimant(gate=gate),
        lambda: gates.revoke(gate, by=SYSTEM, at=timezone.now()),
        Delivery.objects.get(pk=approved.pk),
        threads,
    )


def test_a_claim_while_the_right_ends(
    ending: tuple[Claimant, Callable[[], object]], approved: Delivery, threads: ThreadPoolExecutor
) -> None:
    """The claim waits for the transaction that ends the right, and is then refused."""
    claimant, end = ending
    with transaction.atomic():
        end()
        claimed = start(threads, claiming(claimant, approved))
        wait_for_a_lock()

    assert claimed.result(30) == "refused"
    assert not Claim.objects.exists()
