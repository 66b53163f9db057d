"""Pages about the past are read from a replica, unless it is behind, away or promoted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings

from database.postgresql.replica import State
from tests.stress.faults.servers import NotHere, Postgres, Replica
from tests.stress.faults.site import AgentAt, PersonAt, Site
from tests.wake.callbacks.world import eventually

pytestmark = [
    pytest.mark.once,
    pytest.mark.system,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL"),
]
TOKEN = "a token for the metrics"
# Scripts of `site.run` begin with these lines.
MONITOR = """
import logging
from django.db import connections
from database.postgresql import replica
connections["replica"].pool.drain()  # of connections from before a restart
lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
replica.log.handlers = [handler]  # without the handler of an earlier script
monitor = replica.Monitor()
def state(now):
    return monitor.status(now=now).state.name, monitor.status(now=now).lag
"""


@dataclass
class ReplicatedSite(Site):
    replica_url: str = ""

    @property
    def env(self) -> dict[str, str]:
        url = f"{self.replica_url.rpartition('/')[0]}/{self.database}"
        return {**super().env, "DATABASE_REPLICA_URL": url, "WAKE_METRICS_TOKEN": TOKEN}


@dataclass
class Replicated:
    """Runs a primary and its replica, and the site of a team that uses both."""

    primary: Postgres
    replica: Replica
    site: ReplicatedSite
    origin: str

    def commit(self) -> None:
        self._ask(self.primary, "SELECT pg_logical_emit_message(true, 'a', 'change')")

    def catch_up(self) -> None:
        """Waits until the replica has all that the primary has."""
        position = self._ask(self.primary, "SELECT pg_current_wal_flush_lsn()")
        has_it = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        assert eventually(lambda: self._ask(self.replica, has_it, position), seconds=60)

    def forget_commits(self) -> None:
        """Restarts the replica in a state in which it has replayed no commit since its start."""
        self._ask(self.primary, "CHECKPOINT")
        self.catch_up()
        self._ask(self.replica, "CHECKPOINT")
        self.replica.stop()
        self.replica.start()
        self.catch_up()

    def is_used(self, client: httpx.Client, path: str) -> bool:
        """Requests the page, and returns whether the replica was asked for rows."""
        before = self._statements()
        assert client.get(path).status_code == 200
        return self._statements() > before

    def _statements(self) -> int:
        return sum('FROM "' in line or "SELECT * FROM" in line for line in self.replica.log_lines)

    def figures(self) -> dict[str, float]:
        """Returns the figures of the replica that the web process serves."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        lines = httpx.get(f"{self.origin}/metrics", headers=headers, timeout=30).text.splitlines()
        pairs = [line.split() for line in lines if line.startswith("wake_replica")]
        return {name: float(value) for name, value in pairs}

    def wait_for_use(self, is_in_use: float) -> None:
        assert eventually(lambda: self.figures()["wake_replica_in_use"] == is_in_use, seconds=60)

    def _ask(self, server: Postgres, query: str, *values: Any) -> Any:
        with psycopg.connect(server.url, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), values)
            return cursor.fetchall()[0][0] if cursor.description else None


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    try:
        primary = Postgres()
    except NotHere as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    with psycopg.connect(primary.url, autocommit=True) as server:
        # Its commits come at any time, and a test says when the primary is idle.
        server.execute("ALTER SYSTEM SET autovacuum = off")
        server.execute("SELECT pg_reload_conf()")
    replica = Replica(primary)
    folder = tmp_path_factory.mktemp("data")
    site = ReplicatedSite(folder, server=primary.url, hold_seconds=0, replica_url=replica.url)
    site.run("User.objects.update(is_staff=True)")
    world = Replicated(primary, replica, site, site.start_web().origin)
    world.catch_up()
    yield world
    site.end()
    replica.end()
    primary.end()


@pytest.fixture
def agent(world: Replicated) -> Iterator[AgentAt]:
    agent = AgentAt(world.origin, world.site.key["key"])
    with closing(agent.client):
        yield agent


@pytest.fixture
def alice(world: Replicated) -> Iterator[PersonAt]:
    """Returns Alice in a browser that sent no form in the last ten seconds."""
    world.wait_for_use(1)
    alice = PersonAt(world.origin)
    with closing(alice.client):
        yield forget_forms(alice)


def forget_forms(person: PersonAt) -> PersonAt:
    person.client.cookies.delete("wrote")
    return person


def test_only_pages_about_the_past_are_read_from_the_replica(
    world: Replicated, alice: PersonAt, agent: AgentAt
) -> None:
    pk = agent.deliver(once="past")
    assert alice.answer(pk).status_code == 303
    forget_forms(alice)
    of_agent = world.site.run("result = f'/agents/{Agent.objects.get().pk}/statistics'")
    past = (
        *("/history/", "/history/?q=green", "/?q=green", "/audit/"),
        *("/audit/export.csv", "/audit/export.jsonl"),
        *(f"{of_agent}/", f"{of_agent}/export.csv", f"{of_agent}/export.json"),
    )
    present = ("/", f"/deliveries/{pk}/", "/settings/", "/settings/server/", "/audit/head.json")
    world.catch_up()

    read = {path: world.is_used(alice.client, path) for path in (*past, *present)}
    swept = world.is_used(agent.client, "/wake/v1/responses")
    polled = world.is_used(agent.client, f"/wake/v1/response/{pk}")

    assert read == dict.fromkeys(past, True) | dict.fromkeys(present, False)
    assert (swept, polled) == (False, False)
    assert pk in alice.client.get("/history/").text


def test_people_see_what_they_have_just_done(
    world: Replicated, alice: PersonAt, agent: AgentAt
) -> None:
    pk = agent.deliver(once="own")
    world.catch_up()
    world.replica.pause()

    sent = alice.answer(pk)
    is_used = world.is_used(alice.client, "/history/")
    page = alice.client.get("/history/").text
    world.replica.resume()

    (cookie,) = [text for text in sent.headers.get_list("set-cookie") if "wrote=" in text]
    assert "Max-Age=10" in cookie
    assert not is_used
    assert pk in page


def test_a_replica_behind_is_not_read_until_it_has_caught_up(
    world: Replicated, alice: PersonAt, agent: AgentAt
) -> None:
    world.catch_up()
    world.replica.pause()
    pk = agent.deliver(once="behind")
    assert alice.answer(pk).status_code == 303
    forget_forms(alice)

    world.wait_for_use(0)
    page, server = alice.client.get("/history/").text, alice.client.get("/settings/server/").text
    lag = world.figures()["wake_replica_lag_seconds"]
    world.replica.resume()
    world.wait_for_use(1)

    assert pk in page
    assert State.BEHIND in server
    assert lag > 5
    assert world.is_used(alice.client, "/history/")
    assert State.IN_USE in alice.client.get("/settings/server/").text


def test_a_replica_of_an_idle_primary_is_not_behind(world: Replicated) -> None:
    world.forget_commits()

    (name, lag), lines = world.site.run(MONITOR + "result = state(0.0), lines")

    assert (name, lag) == ("IN_USE", 0)
    assert lines == [f"{State.IN_USE} At most 0.0 s behind."]


def test_the_lag_is_measured_and_each_change_is_logged_once(world: Replicated) -> None:
    world.forget_commits()
    world.replica.pause()
    at_first = world.site.run(MONITOR + "result = state(0.0)")
    world.commit()

    remembered = world.site.run("result = state(0.5)")
    soon = world.site.run("result = state(2.0)")
    late = world.site.run("result = state(5.5), state(7.5)")
    world.replica.resume()
    world.catch_up()
    again, lines = world.site.run("result = state(9.0), lines")

    assert at_first == remembered == ["IN_USE", 0]
    assert soon == ["IN_USE", 2]
    assert late == [["BEHIND", None], ["BEHIND", None]]
    assert again[0] == "IN_USE"
    states = [State.IN_USE, State.BEHIND, State.IN_USE]
    assert [line.partition(" At most")[0].strip() for line in lines] == states


def test_a_query_that_the_replica_cancels_runs_on_the_primary(world: Replicated) -> None:
    world.site.run("""
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE contended (id int)")
""")
    world.catch_up()

    aliases, result, state_after = world.site.run("""
from django.db import connections, router, transaction
from database.postgresql import replica
aliases = []

def query():
    alias = router.db_for_read(Team)
    aliases.append(alias)
    if alias == "default":
        return "read"
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM contended")
        with connection.cursor() as primary:
            primary.execute("TRUNCATE contended")
        cursor.execute("SELECT pg_sleep(8)")

read = replica.from_replica(query)
result = aliases, read, replica.status().state.name
""")

    assert (aliases, result, state_after) == (["replica", "default"], "read", "IN_USE")


def test_nothing_is_written_to_the_replica(world: Replicated) -> None:
    aliases = world.site.run("""
from django.db import router
from database.postgresql import replica

def write():
    Team.objects.select_for_update().db
    team = Team.objects.get()
    team.save(update_fields=["name"])
    return [team._state.db, Team.objects.all().db, Team.objects.select_for_update().db,
            router.db_for_write(Team)]

result = replica.from_replica(write)
""")

    assert aliases == ["default", "replica", "default", "default"]


def test_a_replica_that_is_away_fails_no_page(
    world: Replicated, alice: PersonAt, agent: AgentAt
) -> None:
    world.replica.stop()
    pk = agent.deliver(once="away")
    assert alice.answer(pk).status_code == 303
    forget_forms(alice)

    pages = [alice.client.get(path) for path in ("/history/", "/audit/", "/audit/export.csv")]
    world.wait_for_use(0)
    figures, server = world.figures(), alice.client.get("/settings/server/").text
    world.replica.start()
    world.wait_for_use(1)

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert pk in pages[0].text
    assert "wake_replica_lag_seconds" not in figures
    assert State.UNREACHABLE in server
    assert world.is_used(alice.client, "/history/")


def test_a_frozen_replica_delays_one_page(world: Replicated, alice: PersonAt) -> None:
    world.replica.freeze()
    try:
        pages = [alice.client.get("/history/") for _ in range(3)]
    finally:
        world.replica.thaw()
    world.wait_for_use(1)

    seconds = [page.elapsed.total_seconds() for page in pages]
    assert [page.status_code for page in pages] == [200, 200, 200]
    assert max(seconds) < 10


def test_a_promoted_server_is_no_replica(
    world: Replicated, alice: PersonAt, agent: AgentAt
) -> None:
    """This test is the last of this file, because the server follows no one afterwards."""
    world.replica.promote()
    pk = agent.deliver(once="promoted")
    assert alice.answer(pk).status_code == 303
    forget_forms(alice)

    world.wait_for_use(0)

    assert pk in alice.client.get("/history/").text
    # A connection may fail first, while the server is promoted.
    page = partial(alice.client.get, "/settings/server/")
    assert eventually(lambda: State.PROMOTED in page().text, seconds=60)
