"""Measures sending a message to an agent over A2A. Compares Wake with the official SDK's server,
whose tasks are in PostgreSQL.

The SDK needs its own environment. BENCH_A2A_PYTHON names the Python of that environment
(bench/references/a2a_server.py). Without this variable, the row is skipped.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.tools import http_load, processes, servers
from bench.tools.results import Row

NAME = "A2A send"
ACCEPT, GOAL = 0.5, 0.3
PYTHON = os.environ.get("BENCH_A2A_PYTHON", "")
MAX_REQUESTS = 400  # requests of a round: an agent's queue holds 500 runs
WARM_UP = 200
REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "SendMessage",
    "params": {
        "message": {
            "messageId": "bench",
            "role": "ROLE_USER",
            "parts": [{"text": "Analyse the ten largest competitors in the space."}],
        },
        "configuration": {"returnImmediately": True},
    },
}
HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}


def measure(*, requests: int, rounds: int) -> list[Row]:
    if not PYTHON:
        reason = "BENCH_A2A_PYTHON names no Python with a2a-sdk[http-server,postgresql] and uvicorn"
        return [Row(NAME, 0, ACCEPT, GOAL, skipped=reason)]
    servers.make_database("bench", deliveries=100)
    servers.manage("publish_agent", "bench")
    key = servers.manage("issue_caller_key", "bench").strip()
    with psycopg.connect(servers.DATABASE) as connection:
        ((handle,),) = connection.execute("SELECT slug FROM accounts_team").fetchall()
    body = json.dumps(REQUEST).encode()
    ours = http_load.request_bytes("POST", f"/@{handle}/bench", key, body, HEADERS)
    theirs = http_load.request_bytes("POST", "/", key, body, HEADERS)
    with (
        servers.granian("wake.server.web:application", "--interface", "asginl") as (wake, wake_pid),
        _reference() as (sdk, sdk_pid),
    ):
        # PostgreSQL keeps plans from when the tables were empty, and these scan whole tables.
        # ANALYZE makes PostgreSQL plan again, as autovacuum does within a minute or two.
        for _ in range(2):
            _seconds(wake, wake_pid, ours, WARM_UP)
            _seconds(sdk, sdk_pid, theirs, WARM_UP)
            servers.vacuum()
        measured = [
            (
                _seconds(wake, wake_pid, ours, min(requests, MAX_REQUESTS)),
                _seconds(sdk, sdk_pid, theirs, min(requests, MAX_REQUESTS)),
            )
            for _ in range(rounds)
        ]
    wake_cost, sdk_cost = (statistics.median(column) for column in zip(*measured, strict=True))
    note = "times the a2a-sdk server; CPU of server and PostgreSQL"
    if "BENCH_MICROSECONDS" in os.environ:
        note += f" ({wake_cost * 1e6:.0f}, {sdk_cost * 1e6:.0f} us)"
    return [Row(NAME, wake_cost / sdk_cost, ACCEPT, GOAL, note=note)]


def _seconds(port: int, pid: int, request: bytes, times: int) -> float:
    """Returns the CPU seconds of a request. Gives up the runs that these requests queued, so that
    the agent's queue never fills."""
    before = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    http_load.load(port, request, times)
    after = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    with psycopg.connect(servers.DATABASE, autocommit=True) as connection:
        connection.execute("UPDATE relay_dispatch SET state = 'expired' WHERE state = 'queued'")
    return (after - before) / times


@contextmanager
def _reference() -> Iterator[tuple[int, int]]:
    """Starts the SDK's server; yields its port and its process id."""
    port = servers.free_port()
    command = [PYTHON, str(Path(__file__).parent / "references/a2a_server.py"), str(port)]
    process = subprocess.Popen(  # noqa: S603 - our own server
        [*command, servers.DATABASE], stderr=subprocess.DEVNULL
    )
    try:
        servers.wait_for(port)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()
