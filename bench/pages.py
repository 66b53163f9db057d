"""Measures the CPU time of the list page and of a delivery's page, for a person who signed in."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

import psycopg

from bench.tools import http_load, processes, servers
from bench.tools.results import Row

ROWS = 50
WARM_UP = 40
# In milliseconds of the server's CPU, which depend on the machine, unlike the ratios of others.
LIST_PAGE, DELIVERY_PAGE = 40.0, 20.0


def measure(*, requests: int, rounds: int, deliveries: int) -> list[Row]:
    """Measures with a new database, whose earlier deliveries need no answer any more."""
    servers.make_database("bench", "other", deliveries=deliveries)
    with psycopg.connect(servers.DATABASE, autocommit=True) as connection:
        connection.execute("UPDATE wake_delivery SET acknowledged_at = created_at")
        connection.execute("VACUUM ANALYZE")
    servers.manage("collectstatic", "--noinput", "-v0")
    cookie, delivery = _fill_inbox()
    with servers.granian("wake.web:application", "--interface", "asginl") as server:
        return [
            _row("list page, 50 rows", *server, _get("/", cookie), LIST_PAGE, requests, rounds),
            _row(
                "delivery page",
                *server,
                _get(f"/deliveries/{delivery}/", cookie),
                DELIVERY_PAGE,
                requests,
                rounds,
            ),
        ]


def _fill_inbox() -> tuple[str, str]:
    command = [sys.executable, "-m", "bench.full_inbox", str(ROWS)]
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=servers.ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
    )
    filled = json.loads(done.stdout)
    return filled["cookie"], filled["delivery"]


def _get(path: str, cookie: str) -> bytes:
    """Returns the request of a browser."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Cookie: {cookie}"]
    return "\r\n".join([*lines, "Accept-Encoding: gzip", "", ""]).encode()


def _row(
    name: str, port: int, pid: int, request: bytes, accept: float, requests: int, rounds: int
) -> Row:
    http_load.load(port, request, WARM_UP)
    measured = [_milliseconds(port, pid, request, requests) for _ in range(rounds)]
    server, database = (statistics.median(column) for column in zip(*measured, strict=True))
    return Row(name, server, accept, unit=" ms", note=f"CPU; PostgreSQL's {database:.1f} ms more")


def _milliseconds(port: int, pid: int, request: bytes, times: int) -> tuple[float, float]:
    before = processes.cpu_of_tree(pid), processes.cpu_of_database(servers.DATABASE)
    http_load.load(port, request, times)
    after = processes.cpu_of_tree(pid), processes.cpu_of_database(servers.DATABASE)
    server, database = (
        (end - begin) / times * 1e3 for begin, end in zip(before, after, strict=True)
    )
    return server, database
