"""Starts a server with its own PostgreSQL and Redis, which tests may break."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest
from django.conf import settings

from tests.stress.faults.ledger import Ledger
from tests.stress.faults.parts import Parts
from tests.stress.faults.servers import NotHere, Postgres, RedisServer
from tests.stress.faults.site import AgentAt, PersonAt, Site
from tests.wake.callbacks.receiver import Receiver

# An earlier test may have stopped the server of this connection.
ALLOW = """
from django.db import OperationalError
while allowed:
    connection.close()
    try:
        call_command('allow_callback', allowed)
        allowed = ''
    except OperationalError:
        pass
"""


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    if not settings.DATABASE_URL:
        pytest.skip("about servers: run once, with PostgreSQL")
    try:
        postgres, redis = Postgres(), RedisServer()
    except NotHere as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    disk = postgres.on_a_small_disk()
    site = Site(
        tmp_path_factory.mktemp("data"), redis_url=redis.url, server=postgres.url, hold_seconds=1
    )
    web = site.start_web()
    site.start_worker()
    site.start_beat()
    yield Parts(postgres, redis, redis, disk, site, web.origin)
    site.end()
    redis.kill()
    postgres.end()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def ledger(parts: Parts, receiver: Receiver) -> Ledger:
    parts.site.run(f"allowed = '127.0.0.1:{receiver.port}'\n{ALLOW}")
    return Ledger([receiver])


@pytest.fixture
def agent_at(parts: Parts) -> Iterator[AgentAt]:
    agent = AgentAt(parts.origin, parts.site.key["key"])
    with closing(agent.client):
        yield agent


@pytest.fixture
def alice_at(parts: Parts) -> Iterator[PersonAt]:
    alice = PersonAt(parts.origin)
    with closing(alice.client):
        yield alice
