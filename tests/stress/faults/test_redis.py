"""Redis refused, frozen and restarted (docs/reliability.md, Other promises, 3): no
request waits for it, and missed work is done when it is back."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import httpx
import psycopg
import pytest

from tests.stress.faults.ledger import Ledger
from tests.stress.faults.parts import Parts
from tests.stress.faults.site import AgentAt, PersonAt
from tests.wake.callbacks.world import eventually

pytestmark = pytest.mark.slow

# Its time-outs are 0.2 s for a limit, which is then skipped, and one and two for the bell.
AT_NORMAL_SPEED = 1.0
NOT_TOLD, ENDED = "Couldn't ack", "this worker takes none"
WAITING = """
SELECT count(*) FROM pg_locks WHERE relation = 'wake_heartbeat'::regclass AND NOT granted
"""
TROUBLES: dict[str, tuple[Callable[[Parts], None], Callable[[Parts], None]]] = {
    "refused": (lambda parts: parts.redis.kill(), lambda parts: parts.redis.start()),
    "frozen": (lambda parts: parts.redis.freeze(), lambda parts: parts.redis.thaw()),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_without_redis_all_goes_on_and_the_callbacks_follow_when_it_is_back(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt, trouble: str
) -> None:
    begin, end = TROUBLES[trouble]
    took: list[float] = []

    def deliver_and_answer(number: int) -> None:
        once = f"{trouble}-{number}"
        started = time.monotonic()
        pk = agent_at.deliver(once=once, callback=ledger.receivers[0].url)
        ledger.told_agent(once, pk, has_callback=True)
        assert agent_at.get(pk).json()["status"] == "pending"
        assert alice_at.answer(pk, feedback="Yes.").status_code == 303
        ledger.told_person(pk, "approved")
        took.append(time.monotonic() - started)

    begin(parts)
    try:
        for number in range(8):
            deliver_and_answer(number)
        ready = httpx.get(f"{parts.origin}/readyz", timeout=60)
    finally:
        end(parts)
    deliver_and_answer(8)

    assert median(took) < AT_NORMAL_SPEED
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert set(agent_at.codes) == {200, 201}
    assert eventually(lambda: not ledger.missing, seconds=90), parts.site.logs
    ledger.judge(agent_at)


def test_a_worker_whose_hands_were_full_when_redis_went_takes_jobs_again(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt
) -> None:
    """The worker recovers by itself, without its watchdog."""
    not_told, ended = parts.site.logs.count(NOT_TOLD), parts.site.logs.count(ENDED)

    with psycopg.connect(parts.site.database_url) as someone:
        someone.execute("LOCK wake_heartbeat")
        parts.site.run("from wake import jobs; jobs.beat.delay(); jobs.beat.delay()")
        assert eventually(lambda: someone.execute(WAITING).fetchall() == [(2,)], seconds=20)
        parts.redis.kill()
    assert eventually(lambda: parts.site.logs.count(NOT_TOLD) > not_told, seconds=20)
    parts.redis.start()
    pk = agent_at.deliver(once="hands-full", callback=ledger.receivers[0].url)
    ledger.told_agent("hands-full", pk, has_callback=True)
    assert alice_at.answer(pk).status_code == 303
    ledger.told_person(pk, "approved")

    assert eventually(lambda: not ledger.missing, seconds=12), parts.site.logs
    assert parts.site.logs.count(ENDED) == ended
