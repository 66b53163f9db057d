"""The recipe of docs/operations.md for point-in-time recovery brings back everything before a
moment, and nothing after it.

The commands are the document's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.documents.blocks import documented
from tests.inbox.person import text_of
from tests.stress.faults.ledger import Ledger, one_of_each
from tests.stress.faults.parts import Parts, running
from tests.stress.faults.site import AgentAt, PersonAt
from tests.stress.faults.test_restore import do, steps_of
from tests.wake.callbacks.receiver import answering
from tests.wake.callbacks.world import eventually

pytestmark = [pytest.mark.system, pytest.mark.once]

PATIENCE_SECONDS = 90


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """Starts a server of its own, because the archive and the damage are for one test."""
    with running(tmp_path / "data", small_disk=False) as parts:
        yield parts


class Recipe:
    """Runs the steps of the document as the user of PostgreSQL, or as the user of Wake."""

    def __init__(self, parts: Parts) -> None:
        postgres, site = parts.postgres, parts.site
        self.postgres = postgres
        self.environment = {
            **site.env,
            "SERVER_URL": postgres.url,
            "WAKE_URL": site.database_url,
            "PGDATA": f"{postgres.folder}/data",
            "PGPORT": str(postgres.port),
            "ARCHIVE": f"{postgres.folder}/archive",
            "BASE": f"{postgres.folder}/base",
        }
        preparing = documented("docs/operations.md", 'pg_verifybackup --quiet "$BASE"')
        recovering = documented("docs/operations.md", "recovery_target_action = 'pause'")
        verifying = documented("docs/operations.md", "check --database default\n")
        record = documented("docs/operations.md", "--record pg_basebackup")
        self.steps = {
            **(steps_of(preparing) | steps_of(recovering) | steps_of(verifying)),
            "record": record.replace(".venv/bin/python", "python"),
        }

    def as_postgres(self, step: str, **more: str) -> str:
        folder, user = self.postgres.folder, self.postgres.account
        return do(self.steps[step], folder=folder, user=user, **self.environment, **more)

    def as_wake(self, step: str) -> str:
        return do(self.steps[step], folder=self.postgres.folder, **self.environment)


def test_a_server_goes_back_to_a_moment(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt
) -> None:
    site, receiver, recipe = parts.site, ledger.receivers[0], Recipe(parts)

    def deliver(once: str, callback: str = "") -> str:
        pk = agent_at.deliver(once=once, callback=callback)
        ledger.record_delivery(once, pk, has_callback=bool(callback))
        return pk

    def approve(pk: str) -> None:
        assert eventually(lambda: alice_at.answer(pk).status_code == 303, seconds=PATIENCE_SECONDS)
        ledger.record_answer(pk, "approved")

    def requests_for(pk: str) -> int:
        return sum(one.headers["X-Wake-Delivery-Id"] == pk for one in receiver.received)

    approve(deliver("before the base backup", receiver.url))
    recipe.as_postgres("archive")
    recipe.as_postgres("base backup")
    recipe.as_wake("record")
    approve(deliver("after the base backup", receiver.url))
    assert eventually(lambda: not ledger.missing, seconds=PATIENCE_SECONDS), site.logs
    answered_later = deliver("answered after the moment")
    site.run(RECONNECT + ISSUE)
    receiver.then(answering(503))
    approve(retried := deliver("not arrived at the moment", receiver.url))
    assert eventually(lambda: requests_for(retried) == 1, seconds=PATIENCE_SECONDS), site.logs
    moment = _now(parts)

    lost = agent_at.deliver(once="after the moment")
    assert alice_at.answer(answered_later).status_code == 303
    assert eventually(
        lambda: agent_at.get(answered_later).json()["status"] == "approved",
        seconds=PATIENCE_SECONDS,
    )
    assert eventually(lambda: requests_for(retried) == 2, seconds=PATIENCE_SECONDS), site.logs
    site.run(REVOKE)
    assert "pg_basebackup reported a backup" in _page(alice_at)
    assert eventually(
        lambda: "PostgreSQL archived its write-ahead log" in _page(alice_at),
        seconds=PATIENCE_SECONDS,
    )
    with psycopg.connect(site.database_url) as database:
        database.execute("DROP TABLE wake_delivery CASCADE")
    site.stop()
    site.webs[0].kill()
    parts.redis.kill()
    parts.redis.start()

    recipe.as_postgres("restore", MOMENT=moment)
    newest = recipe.as_postgres("look")
    recipe.as_postgres("open")
    verified = recipe.as_wake("verify")
    site.webs[0].start()
    site.start_worker()
    site.start_beat()

    assert moment[:16] >= newest.split("\n")[2].strip()[:16]
    assert "unbroken" in verified
    assert agent_at.get(lost).status_code == 404
    assert agent_at.get(answered_later).json()["status"] == "pending"
    assert eventually(lambda: requests_for(retried) == 3, seconds=PATIENCE_SECONDS), site.logs
    ledger.judge(agent_at)
    assert site.run(RECONNECT + REVOKED) == [False]
    approve(deliver("after the recovery", receiver.url))
    assert eventually(lambda: not ledger.missing, seconds=PATIENCE_SECONDS), site.logs
    assert len(one_of_each(receiver.received)) == 4


# The process of these scripts was connected before PostgreSQL was restarted.
RECONNECT = """
from django.db import OperationalError
def is_connected():
    connection.close()
    try:
        connection.ensure_connection()
    except OperationalError:
        return False
    return True
while not is_connected():
    pass
"""
ISSUE = "call_command('issue_key', 'revoked-later', stdout=io.StringIO(), stderr=io.StringIO())"
REVOKE = """
from accounts.agents import keys
from accounts.audit import SYSTEM
for key in ApiKey.objects.filter(agent__agent_id='revoked-later'):
    keys.revoke(key, by=SYSTEM, at=timezone.now())
"""
REVOKED = """
keys_of = ApiKey.objects.filter(agent__agent_id='revoked-later')
result = [revoked_at is not None for revoked_at in keys_of.values_list('revoked_at', flat=True)]
"""


def _now(parts: Parts) -> str:
    with psycopg.connect(parts.site.database_url) as database:
        ((now,),) = database.execute("SELECT clock_timestamp()::text")
    return str(now)


def _page(person: PersonAt) -> str:
    return text_of(person.client.get("/settings/server/"))
