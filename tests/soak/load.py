"""Agents deliver and poll, and people answer, while one part of the server after another breaks."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.fixtures.served import Server
from tests.stress.concurrency.threads import at_once
from tests.stress.faults.ledger import Ledger, one_of_each
from tests.stress.faults.servers import Postgres, RedisServer
from tests.stress.faults.site import AgentAt, PersonAt, Site, hash_in
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import eventually
from tests.wake.server.edge.test_idle_sockets import ANNOUNCED, IDLE, idle
from wake.server.run import roles

SECONDS = int(os.environ.get("SOAK_SECONDS", "300"))
# Each agent waits for its answer before it sends on. Eight agents made at most 72 deliveries a
# second, however fast the server was. Thirty agents only delay each other on two cores.
AGENTS, PEOPLE = 20, 8
WEB_PROCESSES = 2  # as on a machine of two cores (wake/server/run/roles.py)
DELIVERIES, POLLS, ANSWERS = 100, 100, 10  # for each second
OUTAGE_SECONDS = 5
# Callbacks may be late even when a fault is over, because the lease of a killed sender runs for a
# minute.
SETTLING_SECONDS = 3
STARTING_SECONDS = 180


@dataclass
class Soak:
    site: Site
    postgres: Postgres
    redis: RedisServer
    web: Server
    ledger: Ledger
    seconds: int
    finished: threading.Event = field(default_factory=threading.Event)
    to_answer: deque[str] = field(default_factory=deque)
    codes: Counter[int] = field(default_factory=Counter)
    # When each delivery was acknowledged, and after how many seconds.
    took: list[tuple[float, float]] = field(default_factory=list)
    faults: list[tuple[str, float, float]] = field(default_factory=list)
    # Only the thread that holds this lock stops and starts worker and beat.
    in_charge: threading.Lock = field(default_factory=threading.Lock)
    started_again: int = 0


def run(folder: Path) -> list[str]:
    return run_on(_site, folder, _break_things, seconds=SECONDS)


def _site(folder: Path, postgres: Postgres, redis: RedisServer) -> Site:
    return Site(folder, redis_url=redis.url, server=postgres.url, hold_seconds=1)


def run_on(
    make_site: Callable[[Path, Postgres, RedisServer], Site],
    folder: Path,
    break_things: Callable[[Soak], None],
    *,
    seconds: int,
    agents: int = AGENTS,
) -> list[str]:
    """Loads the site until `break_things` ends, which takes about so many seconds."""
    roles.allow_open_files()
    postgres, redis = Postgres(), RedisServer()
    site = make_site(folder, postgres, redis)
    receiver = Receiver()
    try:
        keys = site.run(SET_UP.format(agents=agents, port=receiver.port))
        web = site.start_web("wsgi", WEB_PROCESSES)
        site.start_worker()
        site.start_beat()
        soak = Soak(site, postgres, redis, web, Ledger([receiver]), seconds)
        with _supervised(soak):
            _all(soak, keys, break_things)
            return _judge(soak, keys)
    finally:
        receiver.stop()
        site.end()
        redis.kill()
        postgres.end()


SET_UP = """
import io
call_command('allow_callback', '127.0.0.1:{port}')
result = []
for number in range({agents}):
    told = io.StringIO()
    call_command('issue_key', f'soak-{{number}}', stdout=told, stderr=io.StringIO())
    result.append(told.getvalue().strip())
"""


@contextmanager
def _supervised(soak: Soak) -> Iterator[None]:
    """Restarts a worker or beat that ends by itself, as docker-compose.yml does."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(1):
            with soak.in_charge:
                soak.started_again += soak.site.start_ended()

    supervisor = threading.Thread(target=look, name="supervisor")
    supervisor.start()
    try:
        yield
    finally:
        over.set()
        supervisor.join()


def _all(soak: Soak, keys: list[str], break_things: Callable[[Soak], None]) -> None:
    def until_the_end() -> None:
        try:
            break_things(soak)
        finally:
            soak.finished.set()

    at_once(
        until_the_end,
        *[lambda n=n, key=key: _deliver(soak, n, key) for n, key in enumerate(keys)],
        *[lambda key=key: _poll(soak, key) for key in keys],
        *[lambda: _answer(soak)] * PEOPLE,
        # The last fault, the starts and the restarts take additional time.
        within_seconds=2 * soak.seconds + STARTING_SECONDS,
    )


def _deliver(soak: Soak, number: int, key: str) -> None:
    agent = AgentAt(soak.web.origin, key, agent_id=f"soak-{number}")
    for turn in _paced(soak, DELIVERIES / AGENTS):
        once = f"{number}-{turn}"
        began = time.monotonic()
        pk = agent.deliver(once=once, callback=soak.ledger.receivers[0].url)
        soak.took.append((time.time(), time.monotonic() - began))
        soak.ledger.record_delivery(once, pk, has_callback=True)
        soak.to_answer.append(pk)
    soak.codes.update(agent.codes)
    agent.client.close()


def _poll(soak: Soak, key: str) -> None:
    agent = AgentAt(soak.web.origin, key)
    known: list[str] = []
    for turn in _paced(soak, POLLS / AGENTS):
        with suppress(httpx.TransportError):
            if known and turn % 2:
                agent.get(random.choice(known))  # noqa: S311 - it protects no secret
                continue
            page = agent.sweep(limit="1")
            if page.status_code == 200:
                known += [item["delivery_id"] for item in page.json()["deliveries"]]
    soak.codes.update(agent.codes)
    agent.client.close()


def _answer(soak: Soak) -> None:
    alice = PersonAt(soak.web.origin)
    for _ in _paced(soak, ANSWERS / PEOPLE):
        with suppress(IndexError):
            pk = soak.to_answer.pop()
            while not is_answered(soak, alice, pk):
                time.sleep(0.2)
            soak.ledger.record_answer(pk, "approved")
    alice.client.close()


def is_answered(soak: Soak, alice: PersonAt, pk: str) -> bool:
    """Answers again until the server confirms it, as a person would who sees an error."""
    try:
        page = alice.read(pk)
        soak.codes[page.status_code] += 1
        if page.status_code != 200:
            return False
        if not (shown := hash_in(page.text)):
            # The answer was stored, but the server was killed before it could confirm this.
            return True
        answer = alice.send(pk, content_hash=shown, status="approved")
    except httpx.TransportError:
        return False
    soak.codes[answer.status_code] += 1
    return answer.status_code == 303


def _paced(soak: Soak, a_second: float) -> Iterator[int]:
    """Yields so many turns a second, and does not make up for turns that an outage delayed."""
    due = time.monotonic() + random.random() / a_second  # noqa: S311 - it protects no secret
    for turn in count():
        if soak.finished.wait(max(0.0, due - time.monotonic())):
            return
        yield turn
        due = max(due + 1 / a_second, time.monotonic() - 1 / a_second)


def _break_things(soak: Soak) -> None:
    """Gives each fault its share of the time: first quiet, then broken, then whole again."""
    share = SECONDS / len(FAULTS)
    for name, fault in FAULTS.items():
        time.sleep(max(0.0, share - OUTAGE_SECONDS))
        with recorded(soak, name):
            fault(soak)
    time.sleep(share)


@contextmanager
def recorded(soak: Soak, name: str) -> Iterator[None]:
    began = time.time()
    yield
    soak.faults.append((name, began, time.time()))


def _redis_frozen(soak: Soak) -> None:
    soak.redis.freeze()
    time.sleep(OUTAGE_SECONDS)
    soak.redis.thaw()


def _redis_refused(soak: Soak) -> None:
    soak.redis.kill()
    time.sleep(OUTAGE_SECONDS)
    soak.redis.start()


def _postgresql_restarted(soak: Soak) -> None:
    soak.postgres.stop()
    soak.postgres.start()


def _postgresql_away(soak: Soak) -> None:
    soak.postgres.stop()
    time.sleep(OUTAGE_SECONDS)
    soak.postgres.start()


def _postgresql_frozen(soak: Soak) -> None:
    soak.postgres.freeze()
    time.sleep(OUTAGE_SECONDS)
    soak.postgres.thaw()


def _idle_sockets(soak: Soak) -> None:
    """Lets more clients than the web server has threads begin a delivery and send no more. The
    server still answers everybody else."""
    before = len(soak.ledger.acknowledged)
    with idle(soak.web.origin, IDLE, ANNOUNCED["by its length"]):
        for _ in range(OUTAGE_SECONDS):
            healthy = httpx.get(f"{soak.web.origin}/healthz", timeout=OUTAGE_SECONDS)
            assert healthy.status_code == 200
            time.sleep(1)
    assert len(soak.ledger.acknowledged) > before


def _skewed_clock(soak: Soak) -> None:
    """Starts a web server whose clock is ten minutes ahead. A delivery with a deadline of one
    minute waits on both servers, and can be answered."""
    skewed = soak.site.start_web("wsgi", 1, WAKE_TEST_CLOCK_AHEAD="600")
    key, ledger = soak.site.key["key"], soak.ledger
    agent, agent_elsewhere = AgentAt(skewed.origin, key), AgentAt(soak.web.origin, key)
    alice = PersonAt(skewed.origin)
    with closing(agent.client), closing(agent_elsewhere.client), closing(alice.client):
        until = time.monotonic() + OUTAGE_SECONDS
        for turn in count():
            if time.monotonic() > until:
                break
            once = f"skewed-{turn}"
            callback = ledger.receivers[0].url
            pk = agent.deliver(once=once, callback=callback, timeout_seconds=60)
            ledger.record_delivery(once, pk, has_callback=True)
            for polled in (agent.get(pk), agent_elsewhere.get(pk)):
                assert polled.json()["status"] == "pending", polled.text
            while not is_answered(soak, alice, pk):
                time.sleep(0.2)
            ledger.record_answer(pk, "approved")
        soak.codes.update(agent.codes + agent_elsewhere.codes)
    skewed.kill()


def _worker_killed(soak: Soak) -> None:
    with soak.in_charge:
        soak.site.stop(signal.SIGKILL)
        soak.site.start_worker()
        soak.site.start_beat()


def _web_killed(soak: Soak) -> None:
    soak.web.kill()
    soak.web.start()


FAULTS: dict[str, Callable[[Soak], None]] = {
    "Redis frozen": _redis_frozen,
    "worker and beat killed": _worker_killed,
    "PostgreSQL restarted at once": _postgresql_restarted,
    "web server killed": _web_killed,
    "Redis refused and emptied": _redis_refused,
    "PostgreSQL away": _postgresql_away,
    "PostgreSQL frozen": _postgresql_frozen,
    f"{IDLE} idle sockets": _idle_sockets,
    "another web server ten minutes ahead": _skewed_clock,
}
AWAY = {
    *("PostgreSQL restarted at once", "PostgreSQL away", "PostgreSQL frozen"),
    *("web server killed", "PgBouncer killed"),
}


def _judge(soak: Soak, keys: list[str]) -> list[str]:
    ledger = soak.ledger
    assert eventually(lambda: not ledger.missing, seconds=150), soak.site.logs[-5_000:]
    bodies = one_of_each(ledger.received)
    seen: dict[str, str] = {}
    for key in [*keys, soak.site.key["key"]]:
        seen |= _everything(AgentAt(soak.web.origin, key))
    assert set(ledger.acknowledged.values()) <= seen.keys(), "Acknowledged, and not there."
    for pk, status in seen.items():
        assert status == ledger.answered.get(pk, "pending"), pk
    assert bodies.keys() == ledger.answered.keys()
    assert set(soak.codes) <= {200, 201, 303, 503}, soak.codes
    return _figures(soak, received=len(ledger.received))


def _everything(agent: AgentAt) -> dict[str, str]:
    """Returns the status of each delivery, by bulk requests from the beginning."""
    found: dict[str, str] = {}
    query: dict[str, str] = {"limit": "200"}
    while page := agent.sweep(**query).raise_for_status().json():
        found |= {item["delivery_id"]: item["status"] for item in page["deliveries"]}
        if not page["has_more"]:
            break
        query["since"] = page["next_since"]
    agent.client.close()
    return found


def _figures(soak: Soak, *, received: int) -> list[str]:
    ledger = soak.ledger
    with psycopg.connect(soak.site.database_url) as database:
        rows = database.execute(FIRST_ATTEMPTS).fetchall()
    calm = [took for took, at in rows if not _is_broken(soak, at)]
    took = [seconds for _, seconds in soak.took]
    there = soak.seconds - sum(end - begin for name, begin, end in soak.faults if name in AWAY)
    reached = len(ledger.acknowledged) / there
    return [
        f"{soak.seconds} s; injected: "
        + ", ".join(f"{name} ({end - begin:.1f} s)" for name, begin, end in soak.faults)
        + f"; ended by its watchdog and started again: {soak.started_again}",
        f"web server and database were there for {there:.0f} s of it",
        f"deliveries acknowledged {len(ledger.acknowledged)} ({reached:.0f} a second), all stored",
        f"polls and pages {soak.codes[200]} ({soak.codes[200] / there:.0f} a second)",
        f"answers {len(ledger.answered)} ({len(ledger.answered) / there:.1f} a second), "
        f"callbacks received {received}, none missing, none different",
        f"status codes {dict(sorted(soak.codes.items()))}",
        f"deliver p50 {_percentile(took, 50):.3f} s, p95 {_percentile(took, 95):.3f} s",
        f"first callback attempt after release: p95 {_percentile([t for t, _ in rows], 95):.2f} s "
        f"of all {len(rows)}, {_percentile(calm, 95):.2f} s of the {len(calm)} released while "
        "nothing was broken",
    ]


FIRST_ATTEMPTS = """
SELECT extract(epoch FROM min(attempt.started_at) - min(response.responded_at))::float,
       extract(epoch FROM min(response.responded_at))::float
FROM wake_callbackattempt attempt
JOIN wake_callback callback ON callback.id = attempt.callback_id
JOIN wake_response response ON response.id = callback.response_id
GROUP BY callback.id
"""


def _is_broken(soak: Soak, at: float) -> bool:
    return any(begin - 1 <= at <= end + SETTLING_SECONDS for _, begin, end in soak.faults)


def _percentile(values: list[Any], percent: int) -> float:
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)])
