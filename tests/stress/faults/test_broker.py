"""The broker is refused, frozen and restarted (docs/reliability.md, Other promises, 3): Redis, and
RabbitMQ. No request waits for it, and missed work is done when it is back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median

import httpx
import psycopg
import pytest

from tests.fixtures.rabbitmq import virtual_host
from tests.stress.faults.ledger import Ledger
from tests.stress.faults.parts import Parts
from tests.stress.faults.servers import NotHere, RabbitMQ
from tests.stress.faults.site import AgentAt, PersonAt, Site
from tests.wake.callbacks.world import eventually

pytestmark = pytest.mark.system

# A rate limit waits 0.2 s for Redis and is then skipped. A wake-up of a worker waits one or two
# seconds.
AT_NORMAL_SPEED = 1.0
SWEEPS, SWEEPS_NO_MORE = "this worker sweeps by itself", "this worker's sweeper stops"
NOT_TOLD, ENDED = "Couldn't ack", "this worker takes none"
WAITING = """
SELECT count(*) FROM pg_locks WHERE relation = 'wake_heartbeat'::regclass AND NOT granted
"""
WAITING_JOBS = """
from wake.server.work.celery import jobs_waiting
try:
    result = jobs_waiting()
except Exception:
    result = None
"""
TROUBLES: dict[str, tuple[Callable[[Parts], None], Callable[[Parts], None]]] = {
    "refused": (lambda parts: parts.broker.kill(), lambda parts: parts.broker.start()),
    "frozen": (lambda parts: parts.broker.freeze(), lambda parts: parts.broker.thaw()),
}


@pytest.fixture(scope="module", params=["redis", "rabbitmq"])
def parts(
    request: pytest.FixtureRequest, parts: Parts, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Parts]:
    """Adds a site whose broker is RabbitMQ. Its Redis is another database of the same server."""
    if request.param == "redis":
        yield parts
        return
    try:
        with virtual_host() as url:
            broker = RabbitMQ(url)
            site = Site(
                tmp_path_factory.mktemp("rabbitmq"),
                redis_url=f"{parts.redis.url.removesuffix('/0')}/1",
                broker_url=broker.url,
                server=parts.postgres.url,
                hold_seconds=1,
            )
            web = site.start_web()
            site.start_worker()
            site.start_beat()
            yield replace(parts, broker=broker, site=site, origin=web.origin)
            site.end()
    except NotHere as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_without_the_broker_work_continues_and_callbacks_follow(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt, trouble: str
) -> None:
    begin, end = TROUBLES[trouble]
    took: list[float] = []

    def deliver_and_answer(number: int) -> None:
        once = f"{trouble}-{number}"
        started = time.monotonic()
        pk = agent_at.deliver(once=once, callback=ledger.receivers[0].url)
        ledger.record_delivery(once, pk, has_callback=True)
        assert agent_at.get(pk).json()["status"] == "pending"
        assert alice_at.answer(pk, feedback="Yes.").status_code == 303
        ledger.record_answer(pk, "approved")
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


@pytest.mark.parametrize("trouble", TROUBLES)
def test_while_the_broker_is_away_workers_sweep_by_themselves(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt, trouble: str
) -> None:
    """Responses are released and callbacks arrive, each once, until jobs arrive again."""
    begin, end = TROUBLES[trouble]
    swept, stopped = parts.site.logs.count(SWEEPS), parts.site.logs.count(SWEEPS_NO_MORE)

    def deliver_and_answer(number: int) -> None:
        once = f"silence-{trouble}-{number}"
        pk = agent_at.deliver(once=once, callback=ledger.receivers[0].url)
        ledger.record_delivery(once, pk, has_callback=True)
        assert alice_at.answer(pk).status_code == 303
        ledger.record_answer(pk, "approved")

    begin(parts)
    try:
        for number in range(20):
            deliver_and_answer(number)
        arrived = eventually(lambda: not ledger.missing, seconds=60)
        ready = httpx.get(f"{parts.origin}/readyz", timeout=60).json()
    finally:
        end(parts)

    assert arrived, parts.site.logs
    assert (ready["status"], ready["broker"], ready["oldest_due"]) == ("degraded", "away", None)
    assert parts.site.logs.count(SWEEPS) > swept
    assert eventually(lambda: parts.site.logs.count(SWEEPS_NO_MORE) > stopped, seconds=60)
    assert eventually(lambda: not sweepers_of(parts), seconds=60)
    deliver_and_answer(20)
    assert eventually(lambda: not ledger.missing, seconds=60), parts.site.logs
    assert len(ledger.received) == 21, "No callback is sent twice."
    ledger.judge(agent_at)


def test_a_worker_that_starts_without_the_broker_sweeps_by_itself(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt
) -> None:
    """The sweeper of a worker ends with the worker, even after kill -9."""
    pk = agent_at.deliver(once="no-broker", callback=ledger.receivers[0].url)
    ledger.record_delivery("no-broker", pk, has_callback=True)
    parts.site.stop(signal.SIGKILL)
    parts.broker.kill()
    try:
        assert alice_at.answer(pk).status_code == 303
        ledger.record_answer(pk, "approved")
        parts.site.start_unready_worker()

        assert eventually(lambda: not ledger.missing, seconds=60), parts.site.logs
        assert sweepers_of(parts)
        for worker in parts.site.running:
            worker.kill()
        assert eventually(lambda: not sweepers_of(parts), seconds=60)
    finally:
        parts.broker.start()
        parts.site.stop(signal.SIGKILL)
        parts.site.start_worker()
        parts.site.start_beat()
    assert eventually(lambda: not sweepers_of(parts), seconds=60)


@pytest.mark.parametrize("parts", ["redis"], indirect=True)
def test_a_busy_worker_takes_jobs_again_after_an_outage(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt
) -> None:
    """The worker recovers by itself, without its watchdog. It did not, because of a fault in the
    Redis transport of kombu (wake/server/work/redis_broker.py)."""
    not_told, ended = parts.site.logs.count(NOT_TOLD), parts.site.logs.count(ENDED)

    with psycopg.connect(parts.site.database_url) as someone:
        someone.execute("LOCK wake_heartbeat")
        parts.site.run("from wake import jobs; jobs.beat.delay(); jobs.beat.delay()")
        assert eventually(lambda: someone.execute(WAITING).fetchall() == [(2,)], seconds=60)
        parts.broker.kill()
    assert eventually(lambda: parts.site.logs.count(NOT_TOLD) > not_told, seconds=60)
    parts.broker.start()
    # Celery waits longer before each attempt to reconnect, so this takes as long as the outage did.
    # Only a worker takes jobs from the broker: a sweeper does not.
    assert eventually(lambda: jobs_waiting(parts) is not None, seconds=60)
    parts.site.run("from wake import jobs; jobs.beat.delay()")
    assert eventually(lambda: jobs_waiting(parts) == 0, seconds=60), parts.site.logs
    pk = agent_at.deliver(once="hands-full", callback=ledger.receivers[0].url)
    ledger.record_delivery("hands-full", pk, has_callback=True)
    assert alice_at.answer(pk).status_code == 303
    ledger.record_answer(pk, "approved")

    assert eventually(lambda: not ledger.missing, seconds=60), parts.site.logs
    assert parts.site.logs.count(ENDED) == ended


def jobs_waiting(parts: Parts) -> int | None:
    """Returns how many jobs wait in the broker, or None if it does not answer."""
    count: int | None = parts.site.run(WAITING_JOBS)
    return count


def sweepers_of(parts: Parts) -> list[Path]:
    """Returns the processes that sweep for workers of this site."""
    lines, ours = [], parts.site.database_url.encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process may have ended
            is_sweeper = b"wake.server.work.sweeper" in (process / "cmdline").read_bytes()
            if is_sweeper and ours in (process / "environ").read_bytes():
                lines.append(process)
    return lines
