"""Makes a scratch database with one agent, and starts servers on it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

SERVER_URL = os.environ.get("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/test")
NAME = os.environ.get("BENCH_DATABASE", "wake_bench")
DATABASE = SERVER_URL.rpartition("/")[0] + f"/{NAME}"
THREADS = 4
# Limits that the load never reaches. There is no request log.
ENVIRONMENT = {
    **os.environ,
    "DATABASE_URL": DATABASE,
    "WAKE_DEV": "1",
    "WAKE_DATABASE_CONNECTIONS": str(THREADS + 1),
    "WAKE_QUOTA_LIVE": "100000000/1000000",
    "WAKE_READS_PER_MINUTE": "1000000",
    "WAKE_LOG_LEVEL": "WARNING",
    "WAKE_DATA": str(Path(tempfile.gettempdir()) / NAME),
    "DJANGO_SETTINGS_MODULE": "wake.settings",
    "PYTHONWARNINGS": "ignore",  # static files are not collected
}
FILL = """
    INSERT INTO wake_delivery (id, team_id, agent_id, key_hint, lane, claimed_agent_id, provider,
        type, headline, summary, details_json, callback_webhook, timeout_seconds, assumption,
        on_timeout, thread, extensions, content_hash, idempotency_hash, created_at, expires_at,
        activity_at, status, acknowledged_by)
    SELECT gen_random_uuid(), a.team_id, a.id, 'wk_live_bench', 'live', a.agent_id, 'claude',
        'output', 'An earlier report', 'It was sent long ago.', '{}', '', 3600, '', '', '', '{}',
        '', '', t.at, t.at, t.at, 'pending', ''
    FROM accounts_agent a, generate_series(1, %s) n,
        LATERAL (SELECT now() - interval '30 days' + n * interval '1 second' AS at) t
"""


def make_database(*agents: str, deliveries: int, a_team_each: bool = False) -> list[str]:
    """Creates the database again, with `deliveries` earlier deliveries for each agent. Either all
    agents are in the first team, or each agent has its own team, with the agent's name. Returns the
    agents' keys."""
    create_database(NAME)
    manage("migrate", "-v0")
    keys = [
        manage("issue_key", agent, *(("--team", agent) if a_team_each else ())).strip()
        for agent in agents
    ]
    with psycopg.connect(DATABASE, autocommit=True) as connection:
        connection.execute(FILL, [deliveries])
    vacuum()
    return keys


def create_database(name: str, *, template: str = "template1") -> str:
    """Creates a database again, as a copy of another one. Returns its URL."""
    drop_database(name)
    with psycopg.connect(SERVER_URL, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return url_of(name)


def drop_database(name: str) -> None:
    with psycopg.connect(SERVER_URL, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def url_of(name: str) -> str:
    return SERVER_URL.rpartition("/")[0] + f"/{name}"


def acknowledge_all() -> None:
    """Acknowledges the earlier deliveries, so that no inbox shows them."""
    with psycopg.connect(DATABASE, autocommit=True) as connection:
        connection.execute("UPDATE wake_delivery SET acknowledged_at = created_at")
    vacuum()


def vacuum(url: str = DATABASE) -> None:
    """Does what autovacuum would do later. Connections then make their plans again."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def manage(*arguments: str, settings: Mapping[str, str] | None = None) -> str:
    return run("manage.py", *arguments, settings=settings)


def run(*arguments: str, settings: Mapping[str, str] | None = None) -> str:
    """Runs Python with these arguments on the scratch database; returns what it prints. If Python
    fails, prints the errors."""
    command = [sys.executable, *arguments]
    finished = subprocess.run(  # noqa: S603 - our own commands
        command,
        env=ENVIRONMENT | dict(settings or {}),
        check=False,
        capture_output=True,
        text=True,
    )
    if finished.returncode:
        sys.stderr.write(finished.stderr)
    finished.check_returncode()
    return finished.stdout


@contextmanager
def granian(
    application: str, *options: str, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[int, int]]:
    """Serves an application with one process while the block runs; yields its port and its
    process id."""
    port = free_port()
    command = [sys.executable, "-m", "granian", application, "--port", str(port), "--http", "1"]
    command += ["--no-ws", "--workers", "1", "--log-level", "warning", *options]
    server = subprocess.Popen(command, env=ENVIRONMENT | dict(settings or {}))  # noqa: S603 - our own servers
    try:
        wait_for(port)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int, *, seconds: int = 60) -> None:
    for _ in range(10 * seconds):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("The server did not start.")
