"""PostgreSQL stops and returns while agents deliver and people answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count

import httpx
import pytest

from tests.stress.concurrency.threads import at_once
from tests.stress.faults.ledger import Ledger
from tests.stress.faults.parts import Parts
from tests.stress.faults.site import AgentAt, PersonAt
from tests.stress.faults.test_disk_full import form_in, refused
from tests.wake.callbacks.world import eventually

pytestmark = pytest.mark.system

SENDERS = 3


@pytest.fixture
def keep_delivering(parts: Parts, ledger: Ledger) -> Callable[[threading.Event], AgentAt]:
    """Delivers until it is stopped, and records every acknowledgement."""

    def run(finished: threading.Event) -> AgentAt:
        agent = AgentAt(parts.origin, parts.site.key["key"])
        with closing(agent.client):
            for number in count():
                once = f"{threading.get_ident()}-{number}"
                pk = agent.deliver(once=once, callback=ledger.receivers[0].url)
                ledger.record_delivery(once, pk, has_callback=True)
                if finished.wait(0.02):
                    return agent
        raise AssertionError

    return run


def test_the_server_reports_a_stopped_database_and_recovers(
    parts: Parts,
    ledger: Ledger,
    agent_at: AgentAt,
    alice_at: PersonAt,
    keep_delivering: Callable[[threading.Event], AgentAt],
) -> None:
    pk = agent_at.deliver(once="before", callback=ledger.receivers[0].url)
    ledger.record_delivery("before", pk, has_callback=True)
    form = {**form_in(alice_at.read(pk).text), "status": "rejected", "feedback": "Not yet."}
    finished = threading.Event()

    def stop_and_start() -> AgentAt:
        time.sleep(0.5)
        parts.postgres.stop()
        posted, polled = agent_at.post(), agent_at.get(pk)
        refused(posted)
        refused(polled)
        assert polled.json()["status"] == "pending"
        sent, inbox = alice_at.send(pk, **form), alice_at.client.get("/")
        assert (sent.status_code, inbox.status_code) == (503, 503)
        assert int(sent.headers["Retry-After"]) >= 1
        assert form_in(sent.text) == form
        ready = httpx.get(f"{parts.origin}/readyz", timeout=60)
        assert ready.status_code == 503
        assert httpx.get(f"{parts.origin}/healthz", timeout=60).status_code == 200
        for answer in (posted, polled, sent, inbox, ready):
            assert answer.elapsed.total_seconds() < 5
        parts.postgres.start()
        return agent_at

    def at_the_end() -> AgentAt:
        try:
            return stop_and_start()
        finally:
            finished.set()

    agents = at_once(*[lambda: keep_delivering(finished)] * SENDERS, at_the_end)

    assert alice_at.send(pk, **form).status_code == 303
    ledger.record_answer(pk, "rejected")
    for agent in agents:
        assert set(agent.codes) <= {200, 201, 503}
    assert eventually(lambda: not ledger.missing, seconds=60), parts.site.logs
    ledger.judge(agent_at)


@pytest.mark.parametrize("away_seconds", [0, 4])
def test_the_server_recovers_within_two_seconds(
    parts: Parts, agent_at: AgentAt, away_seconds: int
) -> None:
    """Requests used to meet the dead connections one by one, and waited a second for each pair of
    them. The waiting made every attempt slow, while a busy machine makes only some attempts
    slow."""

    def seconds_until_served(attempt: int) -> float:
        at_once(*[agent_at.post] * 16)  # so that there are many connections
        parts.postgres.stop()
        back_at = time.monotonic() + away_seconds
        while time.monotonic() < back_at:
            at_once(*[agent_at.post] * 4)
        parts.postgres.start()
        began = time.monotonic()
        agent_at.deliver(once=f"after {away_seconds} s, {attempt}")
        return time.monotonic() - began

    assert any(seconds_until_served(attempt) < 2 for attempt in range(3))
    assert set(agent_at.codes) <= {201, 503}


def test_a_frozen_database_does_not_hold_requests_until_tcp_times_out(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt
) -> None:
    pk = agent_at.deliver(once="before the frost")
    at_once(*[agent_at.post] * 8)  # so that there are many connections
    parts.postgres.freeze()
    try:
        answers = at_once(
            *[agent_at.post] * 4,
            lambda: agent_at.get(pk),
            lambda: alice_at.client.get("/"),
            lambda: httpx.get(f"{parts.origin}/readyz", timeout=60),
        )
        alive = [httpx.get(f"{parts.origin}/healthz", timeout=60) for _ in range(3)]
    finally:
        parts.postgres.thaw()

    assert [answer.status_code for answer in answers] == [503] * 7
    assert max(answer.elapsed.total_seconds() for answer in answers) < 6
    assert [answer.status_code for answer in alive] == [200] * 3
    # This machine may be busy, but hardly three times in a row.
    assert min(answer.elapsed.total_seconds() for answer in alive) < 1
    agent_at.deliver(once="after the frost")
    assert httpx.get(f"{parts.origin}/readyz", timeout=60).status_code == 200
