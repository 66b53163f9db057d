"""Makes a database as version 0.2 left it, with many deliveries."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from tests.wake.server.up import ROOT
from tests.wake.upgrade.preflight.database import Database

LAST_OF_0_2 = {"accounts": "0024", "inbox": "0020", "relay": "0021", "wake": "0041"}
# About 40 MB, which is more than `preflight` reads to measure the speed.
DELIVERIES = """
INSERT INTO accounts_team (slug, name, created_at) VALUES ('garden', 'Garden', now());
INSERT INTO accounts_agent (id, agent_id, created_at, activity_us, team_id)
     SELECT gen_random_uuid(), 'gardener', now(), 0, id FROM accounts_team;
INSERT INTO wake_delivery (id, key_hint, lane, claimed_agent_id, provider, type, headline, summary,
            callback_webhook, assumption, on_timeout, extensions, content_hash, idempotency_hash,
            created_at, activity_at, status, agent_id, team_id, acknowledged_by, thread)
     SELECT gen_random_uuid(), 'wk_live_', 'live', 'gardener', 'claude', 'question', 'Water it?',
            repeat('x', 280), '', repeat('y', 200), 'hold', '{}', '', '', now(),
            now() + n * interval '1 ms', 'pending', agent.id, agent.team_id, '', ''
       FROM accounts_agent AS agent, generate_series(1, 60000) AS n;
"""


@pytest.fixture(scope="module")
def of_0_2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if not settings.DATABASE_URL:
        pytest.skip("about PostgreSQL")
    name = f"test_wake_preflight_{uuid4().hex[:12]}"
    url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()
    role = f"test_wake_app_{uuid4().hex[:8]}"
    database = Database(url, role, tmp_path_factory.mktemp("data"))
    with closing(psycopg.connect(settings.DATABASE_URL, autocommit=True)) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            for app, number in LAST_OF_0_2.items():
                assert database.manage("migrate", app, number).returncode == 0
            subprocess.run(
                [
                    *("psql", "--quiet", f"--set=role={role}"),
                    *(f"--file={ROOT}/deploy/roles.sql", url),
                ],
                env={**os.environ, "WAKE_APP_PASSWORD": "secret"},
                check=True,
            )
            with psycopg.connect(url) as connection:
                connection.execute(DELIVERIES.encode())
            yield database
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
            server.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
