"""Agents deliver, poll and sweep, and people answer. Each request goes to any of the servers, as
behind a load balancer without sticky sessions."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

import httpx

from tests.stress.faults.ledger import Ledger
from tests.stress.faults.site import AgentAt, PersonAt, hash_in

ORIGIN = "http://127.0.0.1:8000"  # of the load balancer, which is not there
AGENT = "research-agent-01"
AGENTS, PEOPLE = 3, 2
PATIENCE_SECONDS = 180


class LoadBalancer(httpx.BaseTransport):
    """Sends each request to one of the ports, with the public address in its headers."""

    def __init__(self, *ports: int) -> None:
        self.ports = list(ports)
        self.failures: list[str] = []
        self._transport = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        port = random.choice(self.ports)  # noqa: S311 - it protects no secret
        forwarded = httpx.Request(
            request.method,
            request.url.copy_with(port=port),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        answer = self._transport.handle_request(forwarded)
        if answer.status_code >= 400:
            answer.read()
            self.failures.append(
                f"{port} {request.method} {request.url.path}: {answer.status_code} {answer.text}"
            )
        return answer

    def close(self) -> None:
        """Does nothing, because each client closes its transport, and they share this one."""

    def end(self) -> None:
        self._transport.close()


@dataclass
class Load:
    balancer: LoadBalancer
    key: str
    ledger: Ledger
    unanswered: deque[str] = field(default_factory=deque)
    # The statuses that the agents' sweeps read, by delivery.
    swept: dict[str, str] = field(default_factory=dict)
    finished: threading.Event = field(default_factory=threading.Event)
    jobs: list[Future[None]] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Raises what failed in an agent or in a person."""
        work: list[Callable[[], None]] = [partial(self._deliver, n) for n in range(AGENTS)]
        work += [self._sweep] + [self._answer] * PEOPLE
        with ThreadPoolExecutor(len(work)) as threads:
            self.jobs = [threads.submit(each) for each in work]
            try:
                yield
            finally:
                self.finished.set()
        for job in self.jobs:
            job.result()

    def wait_for(self, answers: int) -> None:
        """Returns when people have given this number of further answers."""
        wanted = len(self.ledger.answered) + answers
        until = time.monotonic() + PATIENCE_SECONDS
        while len(self.ledger.answered) < wanted:
            for job in self.jobs:
                if job.done():
                    job.result()
            assert time.monotonic() < until, self.balancer.failures[-5:]
            time.sleep(0.05)

    def _agent(self) -> AgentAt:
        return AgentAt(ORIGIN, self.key, agent_id=AGENT, transport=self.balancer)

    def _deliver(self, number: int) -> None:
        agent, url = self._agent(), self.ledger.receivers[0].url
        with closing(agent.client):
            for turn in itertools.count():
                once = f"{number}-{turn}"
                pk = agent.deliver(once=once, callback=url)
                self.ledger.record_delivery(once, pk, has_callback=True)
                # The other version may get the repetition, and finds the delivery.
                assert agent.deliver(once=once, callback=url) == pk
                self.unanswered.append(pk)
                while self._status(agent, pk) == "pending":
                    if self.finished.is_set():
                        return

    @staticmethod
    def _status(agent: AgentAt, pk: str) -> str:
        polled = agent.client.get(f"/wake/v1/response/{pk}", params={"wait": "2"})
        return str(polled.raise_for_status().json()["status"])

    def _sweep(self) -> None:
        """Follows the cursor, whichever version gave it."""
        agent, query = self._agent(), {"limit": "10"}
        with closing(agent.client):
            while not self.finished.wait(0.2):
                page = agent.sweep(**query).raise_for_status().json()
                self.swept |= {each["delivery_id"]: each["status"] for each in page["deliveries"]}
                query["since"] = page["next_since"]

    def _answer(self) -> None:
        """Signs in at the version that is there first."""
        alice = PersonAt(ORIGIN, transport=self.balancer)
        with closing(alice.client):
            while not self.finished.wait(0.05):
                if not self.unanswered:
                    continue
                pk = self.unanswered.popleft()
                page = alice.read(pk)
                answer = alice.send(pk, content_hash=hash_in(page.text), status="approved")
                assert answer.status_code == 303, (answer.status_code, answer.text[:2_000])
                self.ledger.record_answer(pk, "approved")
