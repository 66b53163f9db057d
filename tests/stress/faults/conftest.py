"""Starts a server with its own PostgreSQL and Redis, which tests may break."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.stress.faults.ledger import Ledger
from tests.stress.faults.parts import Parts, running
from tests.stress.faults.site import AgentAt, PersonAt
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
    with running(tmp_path_factory.mktemp("data"), small_disk=True) as parts:
        yield parts


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
