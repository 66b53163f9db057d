"""Kills one part after another under load: the pooler, the primary, worker and beat, the web
server, the stream server and the replica. Each part is started again seconds later, as a supervisor
would."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.fixtures.served import Server
from tests.soak import load
from tests.soak.load import Soak
from tests.stress.faults.servers import Postgres, RedisServer, Replica
from tests.stress.faults.site import AgentAt, PersonAt
from tests.wake.server.run.pooler import PgBouncer, PooledSite

SECONDS = 150
DOWN_SECONDS = 3
# These agents deliver to the stream server, and wait there until a person's answer is released.
WAITING_AGENTS = 4
REPLICA = "replica killed"


@dataclass
class SiteOfAllParts(PooledSite):
    """Connects through PgBouncer, and reads pages about the past from a replica."""

    replica: Replica = field(kw_only=True)

    @property
    def env(self) -> dict[str, str]:
        place = urlsplit(self.direct_url)
        netloc = f"{place.username}:{place.password}@127.0.0.1:{self.replica.port}"
        return {**super().env, "DATABASE_REPLICA_URL": place._replace(netloc=netloc).geturl()}

    def end(self) -> None:
        super().end()
        self.replica.end()


class InTurn:
    """Kills the parts of a site. Keeps the soak, whose figures the table has."""

    soak: Soak
    stream: Server
    site: SiteOfAllParts

    def __init__(self, *, seconds: int) -> None:
        self.seconds = seconds
        # When a person opened the history, and the status of the answer.
        self.pages: list[tuple[float, int]] = []
        # Callbacks in the hands of a killed sender are late by a minute, so senders are first.
        self.parts: dict[str, Callable[[], None]] = {
            "PgBouncer killed": lambda: _restart(self.site.pooler),
            "PostgreSQL restarted at once": lambda: _restart(self.soak.postgres),
            "worker and beat killed": self._worker,
            "web server killed": lambda: _restart(self.soak.web),
            "stream server killed": lambda: _restart(self.stream),
            REPLICA: lambda: _restart(self.site.replica),
        }

    def make_site(self, folder: Path, postgres: Postgres, redis: RedisServer) -> SiteOfAllParts:
        self.site = SiteOfAllParts(
            folder,
            redis_url=redis.url,
            server=postgres.url,
            hold_seconds=1,
            replica=Replica(postgres),
        )
        return self.site

    def kill_each(self, soak: Soak) -> None:
        self.soak = soak
        self.stream = soak.site.start_web("asgi", 1)
        share = self.seconds / len(self.parts)
        with self._people_and_waiting_agents():
            for name, kill in self.parts.items():
                time.sleep(share / 2)
                with load.recorded(soak, name):
                    kill()
                time.sleep(max(0.0, share / 2 - DOWN_SECONDS))
        assert any('FROM "wake_delivery"' in line for line in self.site.replica.log_lines)

    def _worker(self) -> None:
        with self.soak.in_charge:
            self.soak.site.stop(signal.SIGKILL)
            time.sleep(DOWN_SECONDS)
            self.soak.site.start_worker()
            self.soak.site.start_beat()

    @contextmanager
    def _people_and_waiting_agents(self) -> Iterator[None]:
        over = threading.Event()
        alice = PersonAt(self.soak.web.origin)
        # The threads end before the client of the person is closed.
        with closing(alice.client), ThreadPoolExecutor(WAITING_AGENTS + 1) as threads:
            jobs = [
                threads.submit(self._deliver_and_wait, number, alice, over)
                for number in range(WAITING_AGENTS)
            ]
            jobs.append(threads.submit(self._read_history, alice, over))
            try:
                yield
            finally:
                over.set()
        for job in jobs:
            job.result()

    def _deliver_and_wait(self, number: int, alice: PersonAt, over: threading.Event) -> None:
        soak, ledger = self.soak, self.soak.ledger
        agent = AgentAt(self.stream.origin, soak.site.key["key"])
        with closing(agent.client):
            for turn in count():
                if over.is_set():
                    break
                once = f"waiting-{number}-{turn}"
                pk = agent.deliver(once=once, callback=ledger.receivers[0].url)
                ledger.record_delivery(once, pk, has_callback=True)
                while not load.is_answered(soak, alice, pk):
                    time.sleep(0.2)
                ledger.record_answer(pk, "approved")
                while not _is_released(agent, pk):
                    time.sleep(0.2)
        soak.codes.update(agent.codes)

    def _read_history(self, alice: PersonAt, over: threading.Event) -> None:
        """Reads as a person who has sent no form for a while: their pages come from the replica."""
        cookies = {name: text for name, text in alice.client.cookies.items() if name != "wrote"}
        origin = self.soak.web.origin
        with httpx.Client(base_url=origin, cookies=cookies, timeout=60) as browser:
            while not over.wait(0.3):
                with suppress(httpx.TransportError):
                    status = browser.get("/history/").status_code
                    self.soak.codes[status] += 1
                    self.pages.append((time.time(), status))

    def table(self) -> list[str]:
        """Returns a line for each part: how long it was away, and from the kill until three seconds
        after the start, how many deliveries were acknowledged, the longest of them in seconds, and
        how many pages were shown of those that were opened."""
        lines = [f"{'part':<30}{'away':>8}{'deliveries':>12}{'longest':>10}{'pages':>10}"]
        for name, begin, end in self.soak.faults:
            until = end + load.SETTLING_SECONDS
            took = [seconds for at, seconds in self.soak.took if begin <= at <= until]
            pages = [status for at, status in self.pages if begin <= at <= until]
            longest = f"{max(took):.1f} s" if took else "none"
            shown = f"{pages.count(200)} of {len(pages)}"
            line = f"{name:<30}{end - begin:>6.1f} s{len(took):>12}{longest:>10}{shown:>10}"
            lines.append(line)
            assert name != REPLICA or (pages and set(pages) == {200}), pages
        return lines


def run(folder: Path, *, seconds: int = SECONDS, agents: int = load.AGENTS) -> list[str]:
    turns = InTurn(seconds=seconds)
    figures = load.run_on(turns.make_site, folder, turns.kill_each, seconds=seconds, agents=agents)
    return [*figures, *turns.table()]


def _restart(part: Server | Postgres | PgBouncer) -> None:
    if isinstance(part, Postgres):
        part.stop()
    else:
        part.kill()
    time.sleep(DOWN_SECONDS)
    part.start()


def _is_released(agent: AgentAt, pk: str) -> bool:
    try:
        polled = agent.get(pk, wait="2")
    except httpx.TransportError:
        return False
    if polled.status_code != 200:
        return False
    assert polled.json()["status"] in {"pending", "approved"}, polled.text
    return bool(polled.json()["status"] == "approved")
