"""Wake runs through PgBouncer in transaction mode, with the configuration of deploy/."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings

from tests.check.own_server import judgeable, run_kit
from tests.fixtures.migrated import migrated
from tests.stress.concurrency.threads import at_once
from tests.stress.faults.servers import NotHere, RedisServer
from tests.stress.faults.site import AgentAt, PersonAt
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import HOME, eventually
from tests.wake.server.run.pooler import (
    SERVER_CONNECTIONS,
    PgBouncer,
    PooledSite,
    program,
    variables,
)

pytestmark = [
    pytest.mark.once,
    pytest.mark.system,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL"),
]
AGENTS, ROUNDS = 12, 5
# Most of these share a database with other threads, or with servers.
SUITE = (
    *("tests/spec/answering", "tests/spec/delivering/test_batch.py"),
    *("tests/relay/streams/test_served.py", "tests/relay/connector/test_served.py"),
    *("tests/relay/tasks/test_concurrent_tasks.py", "tests/relay/streams/test_sends.py"),
)


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    try:
        program()
    except NotHere as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[PooledSite]:
    site = PooledSite(tmp_path_factory.mktemp("data"), redis_url=redis_url, hold_seconds=0)
    yield site
    site.end()


@pytest.fixture(scope="module")
def origin(site: PooledSite) -> str:
    """Returns the address of two web processes, with a worker and beat beside them."""
    site.start_worker()
    site.start_beat()
    return site.start_web("asgi", 2).origin


@pytest.fixture
def receiver(site: PooledSite) -> Iterator[Receiver]:
    receiver = Receiver()
    site.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    yield receiver
    receiver.stop()


def test_agents_and_people_share_twenty_connections(
    site: PooledSite, origin: str, receiver: Receiver
) -> None:
    sent: list[str] = []

    def work(number: int) -> list[str]:
        """Delivers, and waits for each answer by long polls."""
        agent = AgentAt(origin, site.key["key"])
        with closing(agent.client):
            own = [
                _deliver_and_wait(agent, f"{number}-{turn}", receiver, sent)
                for turn in range(ROUNDS)
            ]
        return own

    def answer() -> list[str]:
        answered: list[str] = []
        alice = PersonAt(origin)
        until = time.monotonic() + 200
        with closing(alice.client):
            while len(answered) < AGENTS * ROUNDS and time.monotonic() < until:
                for pk in sent[len(answered) :]:
                    assert alice.answer(pk).status_code == 303
                    answered.append(pk)
                time.sleep(0.05)
        return answered

    def look() -> list[str]:
        with psycopg.connect(site.owner_url, autocommit=True) as owner:
            while len(sent) < AGENTS * ROUNDS:
                ((pooled,),) = owner.execute(POOLED, [site.role]).fetchall()
                most.append(pooled)
                time.sleep(0.05)
        return []

    most: list[int] = []
    made = at_once(answer, look, *[lambda n=n: work(n) for n in range(AGENTS)])

    done = {pk for own in made[2:] for pk in own}
    assert len(done) == AGENTS * ROUNDS
    assert 0 < max(most) <= SERVER_CONNECTIONS
    arrived = eventually(
        lambda: done <= {each.json["delivery_id"] for each in receiver.received}, seconds=60
    )
    assert arrived, site.logs[-3_000:]
    agent = AgentAt(origin, site.key["key"])
    with closing(agent.client):
        page = agent.sweep(limit="200").json()
    assert done <= {each["delivery_id"] for each in page["deliveries"]}


def _deliver_and_wait(agent: AgentAt, once: str, receiver: Receiver, sent: list[str]) -> str:
    pk = agent.deliver(once=once, callback=receiver.url)
    sent.append(pk)
    status = "pending"
    while status == "pending":
        polled = agent.client.get(f"/wake/v1/response/{pk}", params={"wait": "5"})
        assert polled.status_code == 200, polled.text
        status = polled.json()["status"]
    assert status == "approved"
    return pk


# LISTEN goes past the pooler, with a connection for each process.
POOLED = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND query NOT LIKE 'LISTEN %%'"


def test_a_commit_wakes_other_processes(site: PooledSite) -> None:
    heard = site.run("""
import threading
from database import notifications
woken = threading.Event()
with notifications.listening("a", woken.set):
    assert notifications.watcher.hears.wait(30)
    woken.clear()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('wake', 'z a')")
    result = woken.wait(30)
notifications.watcher.is_enabled = False
""")

    assert heard is True


def test_the_limits_hold_without_being_sent(site: PooledSite) -> None:
    told = site.run("""
from database.postgresql.bounded_connections import BoundedByRole
from django.db import OperationalError
with connection.cursor() as cursor:
    cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),"
                   " current_setting('jit'), current_setting('max_parallel_workers_per_gather')")
    limits = cursor.fetchone()
    began = time.monotonic()
    try:
        cursor.execute("SELECT pg_sleep(30)")
        error = ""
    except OperationalError as canceled:
        error = str(canceled)
result = limits, error, time.monotonic() - began, isinstance(connection.connection, BoundedByRole)
""")

    limits, error, seconds, is_bounded = told
    assert limits == ["10s", "5s", "off", "0"]
    assert "statement timeout" in error
    assert 9 < seconds < 13
    assert is_bounded


def test_no_server_starts_without_the_limits(site: PooledSite) -> None:
    def start(*changes: bytes) -> subprocess.CompletedProcess[str]:
        with psycopg.connect(site.owner_url, autocommit=True) as owner:
            for change in changes:
                owner.execute(change)
        command = [sys.executable, "manage.py", "check", "--database", "default"]
        # A new pooler has no connection that began with other settings.
        pooler = PgBouncer(site.direct_url)
        environment = site.env | variables(pooler.url, site.direct_url)
        try:
            return subprocess.run(
                command, cwd=HOME, env=environment, capture_output=True, text=True, check=False
            )
        finally:
            pooler.end()

    name = f'ALTER ROLE "{site.role}" IN DATABASE "{site.database}" '
    refused = start(f"{name} RESET statement_timeout".encode())
    accepted = start(f"{name} SET statement_timeout = '10s'".encode())

    assert refused.returncode == 1
    assert "(wake.E013)" in refused.stderr
    assert "statement_timeout is 0." in refused.stderr
    assert accepted.returncode == 0, accepted.stderr


def test_migrations_and_backups_go_past_the_pooler(site: PooledSite, tmp_path: Path) -> None:
    """Through the pooler, `migrate` could not even connect: it sends limits of its own."""
    owner = {"DATABASE_DIRECT_URL": site.owner_url}
    for words in (
        ["migrate", "wake", "zero", "--plan"],
        ["migrate", "inbox", "--verbosity", "0"],
        ["backup", str(tmp_path / "backup")],
    ):
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=HOME,
            env=site.env | owner,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    with psycopg.connect(site.pooler.url) as pooled:
        assert pooled.execute("SHOW statement_timeout").fetchall() == [("10s",)]
    assert (tmp_path / "backup/wake.dump").stat().st_size > 100_000


def test_the_kit_judges_a_server_behind_the_pooler(tmp_path: Path, db: None) -> None:
    try:
        redis = RedisServer()
    except NotHere as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    site = PooledSite(tmp_path / "site", redis_url=redis.url)
    try:
        with psycopg.connect(site.owner_url, autocommit=True) as owner:
            owner.execute("TRUNCATE accounts_user, accounts_team CASCADE")
        # `up` migrates, and so its direct URL is that of the owner.
        ours = variables(site.database_url, site.owner_url)
        ours |= {"REDIS_URL": redis.url, "WAKE_DEV": "1"}
        with judgeable(tmp_path / "data", "--processes", "2", **ours) as (url, options, known):
            done = run_kit(url, [*options, "--json"], known)
    finally:
        site.end()
        redis.kill()

    assert done.stdout, done.stderr
    verdicts = json.loads(done.stdout)["verdicts"]
    failed = {
        each["id"]: f"{each['result']}: {each['reason']}"
        for each in verdicts
        if each["party"] == "server" and each["result"] != "PASS"
    }
    assert failed == {}
    assert len(verdicts) > 90


def test_the_tests_of_the_protocol_and_of_the_relay_pass() -> None:
    place = urlsplit(settings.DATABASE_URL)
    netloc = f"{place.username}:of-the-test@{place.hostname}:{place.port or 5432}"
    direct = place._replace(netloc=netloc).geturl()
    migrated(settings.DATABASE_URL)
    pooler = PgBouncer(direct)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SUITE]
    process = subprocess.Popen(
        command,
        cwd=HOME,
        env={**os.environ, **variables(pooler.url, direct)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        told, _ = process.communicate()
    finally:
        pooler.end()
        with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS test_wake_{process.pid} WITH (FORCE)".encode())

    assert process.returncode == 0, told[-5_000:]
