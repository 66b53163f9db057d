"""Measures the CPU time of a delivery, a poll and a sweep, compared with PostgreSQL alone.

Run `make bench` (Linux, PostgreSQL at DATABASE_URL or 127.0.0.1). Each round interleaves the three
requests over keep-alive connections to a granian of one worker, and reads the CPU time of the
server and of PostgreSQL's backends from /proc; the yardstick is the same durable work in prepared
statements on one connection. Only the ratios mean something: machines are noisy.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

PORT = 8931
CONNECTIONS = 8
REQUESTS = int(os.environ.get("BENCH_REQUESTS", "2000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SERVER_URL = os.environ.get("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/test")
NAME = "wake_bench"
TICK = os.sysconf("SC_CLK_TCK")
ENVIRONMENT = {
    **os.environ,
    "DATABASE_URL": SERVER_URL.rpartition("/")[0] + f"/{NAME}",
    "WAKE_DEV": "1",
    "WAKE_DATABASE_CONNECTIONS": str(int(os.environ.get("BENCH_THREADS", "4")) + 1),
    "WAKE_QUOTA_LIVE": "100000000/1000000",
    "WAKE_READS_PER_MINUTE": "1000000",
    "WAKE_LOG_LEVEL": "WARNING",
    "WAKE_DATA": f"/tmp/{NAME}",  # noqa: S108 - secrets of a throw-away server
    "DJANGO_SETTINGS_MODULE": "wake.settings",
}
DETAILS = '{"url": "https://example.com/report", "word_count": 3200}'
ANSWER = (
    "SELECT d.id, d.expires_at, d.status, d.activity_at, r.feedback, r.edited_json, r.responded_at"
    " FROM wake_delivery d LEFT JOIN wake_response r ON r.delivery_id = d.id"
)
AGENT: dict[str, Any] = {}


def main() -> None:
    with psycopg.connect(SERVER_URL, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {NAME}")
    manage("migrate", "-v0")
    key = manage("issue_key", "bench").strip()
    server = start_server()
    try:
        report(measure(key, server.pid))
    finally:
        server.terminate()
        server.wait()


def manage(*arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(  # noqa: S603 - our own commands
        command, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def start_server() -> subprocess.Popen[bytes]:
    command = [
        str(Path(sys.executable).with_name("granian")),
        *("--interface", "asginl", "--port", str(PORT), "--no-ws", "--log-level", "warning"),
        *("--http", "1", "wake.web:application"),
    ]
    server = subprocess.Popen(command, env=ENVIRONMENT)  # noqa: S603 - our own server
    for _ in range(100):
        time.sleep(0.1)
        try:
            request("GET", "/wake/v1")
        except OSError:
            continue
        return server
    raise SystemExit("The server did not start.")


def request(method: str, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
    connection.request(method, path)
    connection.getresponse().read()


def measure(key: str, pid: int) -> dict[str, list[float]]:
    """Microseconds a request, a list of rounds for each kind of request."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps(
        {
            "agent_id": "bench",
            "provider": "claude",
            "type": "output",
            "headline": "Market report ready for your review",
            "summary": "Analysed the ten largest competitors in the space.",
            "details": json.loads(DETAILS),
            "timeout_seconds": 3600,
        }
    )
    for _ in range(60):
        created = json.loads(once("POST", "/wake/v1/deliver", body, headers))
    poll = f"/wake/v1/response/{created['delivery_id']}"
    since = json.loads(once("GET", "/wake/v1/responses?limit=10", None, headers))["next_since"]
    AGENT.update(since=since, one=created["delivery_id"])
    with psycopg.connect(ENVIRONMENT["DATABASE_URL"]) as connection:
        AGENT["pk"] = connection.execute("SELECT id FROM accounts_agent").fetchall()[0][0]
    kinds: dict[str, Callable[[], float]] = {
        "deliver": lambda: cpu(pid, lambda: load("POST", "/wake/v1/deliver", body, headers)),
        "poll": lambda: cpu(pid, lambda: load("GET", poll, None, headers)),
        "sweep of 50": lambda: cpu(
            pid, lambda: load("GET", f"/wake/v1/responses?since={since}", None, headers)
        ),
        "PostgreSQL alone: deliver": lambda: alone(durable_delivery),
        "PostgreSQL alone: poll": lambda: alone(one_row),
        "PostgreSQL alone: sweep of 50": lambda: alone(fifty_rows),
    }
    for run in kinds.values():
        run()
    return {name: [run() for _ in range(ROUNDS)] for name, run in kinds.items()}


def once(method: str, path: str, body: str | None, headers: dict[str, str]) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status >= 300:
        raise SystemExit(f"{answer.status} {content!r}")
    return content


def load(method: str, path: str, body: str | None, headers: dict[str, str]) -> None:
    def run() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
        for _ in range(REQUESTS // CONNECTIONS):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 300:
                raise SystemExit(f"{answer.status}")

    threads = [threading.Thread(target=run) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cpu(pid: int, run: Callable[[], None]) -> float:
    before = ticks(pid)
    run()
    return (ticks(pid) - before) / TICK / REQUESTS * 1e6


def alone(run: Callable[[psycopg.Connection], None]) -> float:
    with psycopg.connect(ENVIRONMENT["DATABASE_URL"], prepare_threshold=0) as connection:
        backend = connection.info.backend_pid
        before = one(backend)
        for _ in range(REQUESTS):
            run(connection)
        return (one(backend) - before) / TICK / REQUESTS * 1e6


def durable_delivery(connection: psycopg.Connection) -> None:
    """One transaction that does to the rows what a delivery does."""
    key = uuid.uuid4()
    connection.execute("UPDATE accounts_agent SET activity_us = activity_us + 1")
    connection.execute("UPDATE accounts_apikey SET quota_us = quota_us + 1")
    connection.execute(
        "INSERT INTO wake_delivery (id, team_id, agent_id, key_hint, lane, claimed_agent_id,"
        " provider, type, headline, summary, details_json, callback_webhook, timeout_seconds,"
        " assumption, on_timeout, thread, extensions, content_hash, idempotency_hash, created_at,"
        " expires_at, activity_at, status, acknowledged_by) VALUES (%s, 1, %s, 'wk_live_bench',"
        " 'live', 'bench', 'claude', 'output', 'Market report ready for your review', 'Analysed the"
        " ten largest competitors in the space.', %s, '', 3600, '', '', '', '{}', %s, '',"
        " clock_timestamp(), clock_timestamp(), clock_timestamp(), 'pending', '')",
        [key, AGENT["pk"], DETAILS, "0" * 64],
    )
    connection.execute(
        "INSERT INTO accounts_auditevent (at, team_id, event, actor_kind, actor_id, actor_name,"
        " object_kind, object_id, object_name, address, detail) VALUES (clock_timestamp(), 1,"
        " 'delivery.received', 'agent', %s, 'bench', 'delivery', %s, 'Market report ready for your"
        " review', '127.0.0.1', %s)",
        [str(AGENT["pk"]), str(key), Jsonb({"type": "output", "content_hash": "0" * 64})],
    )
    connection.commit()


def one_row(connection: psycopg.Connection) -> None:
    connection.execute(ANSWER + " WHERE d.id = %s AND d.agent_id = %s", [AGENT["one"], AGENT["pk"]])
    connection.commit()


def fifty_rows(connection: psycopg.Connection) -> None:
    connection.execute(
        ANSWER + " WHERE d.agent_id = %s AND d.lane = 'live' AND d.activity_at > %s"
        " ORDER BY d.activity_at LIMIT 51",
        [AGENT["pk"], AGENT["since"]],
    ).fetchall()
    connection.commit()


def ticks(server: int) -> int:
    """CPU ticks of granian, its worker, and the database's backends that serve them."""
    children = subprocess.run(  # noqa: S603
        ["ps", "-o", "pid=", "--ppid", str(server)],  # noqa: S607 - from the caller's PATH
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout.split()
    with psycopg.connect(ENVIRONMENT["DATABASE_URL"]) as connection:
        backends = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            [NAME],
        ).fetchall()
    return (
        one(server) + sum(one(int(pid)) for pid in children) + sum(one(pid) for (pid,) in backends)
    )


def one(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def report(found: dict[str, list[float]]) -> None:
    for name, rounds in found.items():
        yardstick = found.get(f"PostgreSQL alone: {name}")
        times = statistics.median(rounds) / statistics.median(yardstick) if yardstick else 1
        print(f"{name:32} {statistics.median(rounds):8.0f} us  {times:5.1f}x")  # noqa: T201


if __name__ == "__main__":
    main()
