"""Processes of 0.2 are replaced one by one on a migrated database, while agents deliver and people
answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from tests.stress.faults.ledger import Ledger, one_of_each
from tests.stress.faults.site import GENEROUS, PASSWORD, AgentAt, PersonAt
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import eventually
from tests.wake.upgrade.load import AGENT, ORIGIN, Load, LoadBalancer
from tests.wake.upgrade.releases import THIS, Process, Site, version_0_2

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL"),
]
ANSWERS = 10  # in each state of the upgrade
# The workers of 0.2 cannot continue the audit chains, as the changelog says.
FAILING_JOB = "accounts.jobs.seal_new_events"


@pytest.fixture
def site(tmp_path: Path, redis_url: str) -> Iterator[Site]:
    name = f"test_wake_upgrade_{uuid4().hex[:12]}"
    ours = {
        "WAKE_DATA": str(tmp_path / "data"),
        "WAKE_DEV": "1",
        "WAKE_ORIGIN": ORIGIN,
        "WAKE_HOLD_SECONDS": "1",
        "WAKE_PASSWORD": PASSWORD,
        "DATABASE_URL": urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl(),
        "REDIS_URL": redis_url,
        **GENEROUS,
    }
    with closing(psycopg.connect(settings.DATABASE_URL, autocommit=True)) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        site = Site(tmp_path, ours)
        try:
            yield site
        finally:
            site.end()
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


def test_0_2_is_replaced_under_load(site: Site, receiver: Receiver, tmp_path: Path) -> None:
    old = version_0_2(tmp_path)
    site.manage(old, "migrate", "--verbosity", "0")
    key = json.loads(site.manage(old, "issue_key", AGENT, "--json").stdout)["key"]
    site.manage(old, "add_person", "alice@example.com", "--role", "owner")
    site.manage(old, "allow_callback", f"127.0.0.1:{receiver.port}")
    old_web, old_worker, old_beat = (
        site.start(f"old {role}", old, role) for role in ("stream", "worker", "beat")
    )
    balancer = LoadBalancer(old_web.port)
    load = Load(balancer, key, Ledger([receiver]))

    with load.running():
        load.wait_for(ANSWERS)
        assert site.manage(THIS, "preflight").returncode == 0
        site.manage(THIS, "migrate", "--verbosity", "0")
        load.wait_for(ANSWERS)  # all of 0.2 on the migrated tables
        new_web = site.start("new stream", THIS, "stream")
        balancer.ports.append(new_web.port)
        load.wait_for(ANSWERS)  # servers of both
        new_worker = site.start("new worker", THIS, "worker")
        load.wait_for(ANSWERS)  # workers of both
        old_worker.stop()
        new_beat = site.start("new beat", THIS, "beat")
        old_beat.stop()
        balancer.ports.remove(old_web.port)
        load.wait_for(ANSWERS)  # each request of before has ended
        _old_server_asks_to_sign_in(old_web, new_web)
        old_web.stop()
        load.wait_for(ANSWERS)

    _judge(load, AgentAt(ORIGIN, key, transport=balancer))
    assert "unbroken" in site.manage(THIS, "audit_verify", "--all").stdout
    assert set(_failed_jobs(old_worker)) <= {FAILING_JOB}
    assert [each.output for each in (new_web, new_worker, new_beat) if _has_errors(each)] == []
    balancer.end()


def _judge(load: Load, agent: AgentAt) -> None:
    ledger = load.ledger
    assert eventually(lambda: not ledger.missing, seconds=90)
    assert load.balancer.failures == []
    assert len(ledger.answered) >= 6 * ANSWERS
    # Each callback was sent once, and each sweep followed the cursor of the other version.
    assert one_of_each(ledger.received).keys() == ledger.answered.keys()
    assert len(ledger.received) == len(ledger.answered)
    with closing(agent.client):
        for pk in ledger.acknowledged.values():
            assert agent.get(pk).json()["status"] == ledger.answered.get(pk, "pending")
    assert load.swept.items() <= ledger.answered.items()
    assert len(load.swept) > 5 * ANSWERS


def _old_server_asks_to_sign_in(old_web: Process, new_web: Process) -> None:
    """Sessions of the new version are unknown to the old one. It redirects, and does not fail."""
    alice = PersonAt(new_web.origin)
    with closing(alice.client):
        page = alice.client.get(f"{old_web.origin}/")
    assert (page.status_code, page.headers["Location"].partition("?")[0]) == (302, "/login/")


def _failed_jobs(worker: Process) -> list[str]:
    return re.findall(r"Task (\S+?)\[.*raised unexpected", worker.output)


def _has_errors(process: Process) -> bool:
    return re.search(r"\bERROR\b|Traceback", process.output) is not None
