"""A real server on the other side of every callback, which does whatever a test wants of it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from accounts.signing_secrets import secrets_of
from tests.migrated import migrated
from tests.outgoing.world import World
from wake import destinations
from wake.destinations import Door, Outcome
from wake.models import Callback, Delivery, Response

Behaviour = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """Answers 200 unless told otherwise; keeps everything it got."""

    tls: ssl.SSLContext | None = None
    received: list[Received] = field(default_factory=list)
    behaviours: list[Behaviour] = field(default_factory=list)
    finished: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append(Received(self.path, dict(self.headers), body))
                behave = receiver.behaviours.pop(0) if receiver.behaviours else answering(200)
                try:
                    behave(self)
                except OSError:  # the sender went away, as it should from some of these
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if self.tls:
            self.server.socket = self.tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        return int(self.server.server_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def then(self, *behaviours: Behaviour) -> None:
        """What it does with the next requests, in this order."""
        self.behaviours += behaviours

    def stop(self) -> None:
        self.finished.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def answering(status: int, body: bytes = b"ok", **headers: str) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return behave


def slowly(seconds: float) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        answering(200)(request)

    return behave


# Of those who test it; everybody else has a busy machine's.
DEADLINE, PATIENCE = 0.6, 60.0
HEADERS = {"Content-Type": "application/json", "X-Wake-Delivery-Id": "an-id"}
BODY = b'{"status":"approved"}'


class Names(AbstractResolver):
    """Answers each look-up of a name with the next set of addresses, and counts them."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        self.asked.append(host)
        addresses = self.answers.pop(0)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        pass


def post(*urls: str, body: bytes = BODY, **door: Any) -> list[Outcome]:
    """One after the other through one door."""

    async def go() -> list[Outcome]:
        opened = Door(**({"deadline": PATIENCE} | door))
        try:
            return [await opened.post(url, body=body, headers=HEADERS) for url in urls]
        finally:
            await opened.close()

    return asyncio.run(go())


@pytest.fixture
def start_receiver() -> Iterator[Callable[..., Receiver]]:
    started: list[Receiver] = []

    def start(**given: Any) -> Receiver:
        started.append(Receiver(**given))
        return started[-1]

    yield start
    for receiver in started:
        receiver.stop()


@pytest.fixture
def receiver(start_receiver: Callable[..., Receiver], team: Team) -> Receiver:
    """One that callbacks of the team may go to."""
    receiver = start_receiver()
    destinations.allow(f"127.0.0.1:{receiver.port}", team=team, by=SYSTEM)
    return receiver


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """A database of these tests' own on a real Redis."""
    server = urlsplit(os.environ.get("REDIS_URL") or "redis://127.0.0.1:6379")
    for number in range(15, 4, -1):
        url = server._replace(path=f"/{number}").geturl()
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as redis:
            try:
                is_ours = redis.set("taken-by-a-test", os.getpid(), nx=True, ex=1_800)
            except RedisError:
                if os.environ.get("CI"):
                    raise
                pytest.skip("Redis does not answer")
            if is_ours and redis.dbsize() == 1:
                yield url
                redis.flushdb()
                return
    pytest.fail("Every database of this Redis is in use")


@pytest.fixture(scope="module")
def make_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**given: Any) -> World:
        source = migrated(settings.DATABASE_URL)
        made.append(World(tmp_path_factory.mktemp("data"), copied=source, **given))
        return made[-1]

    yield make
    for world in made:
        world.end()


@pytest.fixture
def secret(agent: Agent) -> str:
    return secrets_of(agent.pk)[0]


@pytest.fixture
def answered(
    receiver: Receiver,
    make_delivery: Callable[..., Delivery],
    answer: Callable[..., Response],
) -> Callable[..., Callback]:
    """The callback of a delivery that Alice has answered, due now."""

    def make(
        status: str = "approved", *, url: str = "", feedback: str = "", **fields: Any
    ) -> Callback:
        delivery = make_delivery(callback_webhook=url or receiver.url, **fields)
        return answer(delivery, status, feedback=feedback).callback

    return make


@pytest.fixture
def other_team_id(mallory: User) -> int:
    return mallory.memberships.get().team_id


def answer_in(callback: Callback) -> Response:
    """What it carries: a person's answer, and not news of a task."""
    assert callback.response is not None
    return callback.response


def again(callback: Callback) -> Callback:
    """The row as it is now."""
    return Callback.objects.get(pk=callback.pk)


def due(callback: Callback) -> datetime:
    at = again(callback).due_at
    assert at is not None
    return at
