"""Measures the drill: two databases, one small and one large, filled in the same way."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import hot_paths, pages
from bench.tools import http_load, processes, servers
from bench.tools.results import Row

TEAM, AGENT = "drill", "drill-0"  # as bench/drill/seeds.py names them
DELIVERY, LIST_PAGE, A_MONTH = 1.1, 50.0, 1.0  # times, milliseconds, seconds
WARM_UP = 40
MILLION, MEGABYTE, GIGABYTE = 1e6, 2**20, 2**30
SIZES = """
    SELECT relname, pg_total_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC LIMIT 6"""


@dataclass(frozen=True, slots=True)
class Database:
    """Names a database of the drill."""

    name: str
    deliveries: int

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE_URL": self.url}

    @property
    def url(self) -> str:
        return servers.url_of(self.name)


def fill(database: Database) -> list[Row]:
    with _receiver() as port:
        command = "-m", "bench.drill.inside", "fill", str(database.deliveries), port
        took = json.loads(servers.run(*command, settings=database.settings))
    parts = ", ".join(f"{name} {_minutes(seconds)}" for name, seconds in took.items())
    total = sum(took.values())
    return [Row(f"{database.deliveries:,} deliveries", total, None, unit=" s", note=parts)]


def disk(database: Database) -> list[Row]:
    with psycopg.connect(database.url) as connection:
        ((size,),) = connection.execute("SELECT pg_database_size(current_database())").fetchall()
        tables = connection.execute(SIZES).fetchall()
    millions = database.deliveries / MILLION
    note = ", ".join(f"{name} {bytes / GIGABYTE / millions:.2f}" for name, bytes in tables)
    each = size / GIGABYTE / millions
    return [Row("disk a million deliveries", each, None, unit=" GB", note=note)]


def list_page(large: Database, small: Database, *, requests: int) -> list[Row]:
    """Measures one person who opens the list again and again, on a server with one process."""
    servers.manage("collectstatic", "--noinput", "-v0")
    later, before = (_list_seconds(each, requests) for each in (large, small))
    note = (
        f"median {statistics.median(later) * 1e3:.0f} ms; "
        f"with {small.deliveries:,} deliveries {_p95(before) * 1e3:.0f} ms"
    )
    return [Row("list page, p95", _p95(later) * 1e3, LIST_PAGE, unit=" ms", note=note)]


def delivering(large: Database, small: Database, *, requests: int, rounds: int) -> list[Row]:
    """Compares a delivery to both databases. Each round measures both, and begins with the other
    one than the round before."""
    with _server(large) as one, _server(small) as other:
        sides = [(large, *one), (small, *other)]
        senders = [_Sender(*side) for side in sides]
        for sender in senders:
            sender.send(WARM_UP)
        measured: list[list[tuple[float, float]]] = [[], []]
        for round in range(rounds):
            for place in (0, 1) if round % 2 else (1, 0):
                measured[place].append(senders[place].send(requests))
    (cpu, seconds), (small_cpu, small_seconds) = (
        [statistics.median(column) for column in zip(*side, strict=True)] for side in measured
    )
    return [
        Row(
            "delivery, CPU",
            cpu / small_cpu,
            DELIVERY,
            note=f"{cpu * 1e6:.0f} us, with {small.deliveries:,} {small_cpu * 1e6:.0f} us",
        ),
        Row(
            "delivery, time",
            seconds / small_seconds,
            DELIVERY,
            note=f"median {seconds * 1e3:.1f} ms of {http_load.CONNECTIONS} connections, "
            f"with {small.deliveries:,} {small_seconds * 1e3:.1f} ms",
        ),
    ]


def erasing(database: Database) -> list[Row]:
    """Erases the oldest month, and vacuums afterwards."""
    command = "-m", "bench.drill.inside", "erase"
    took = json.loads(servers.run(*command, settings=database.settings))
    rate = took["erased"] / took["seconds"]
    note = f"{took['erased']:,} deliveries, {rate:,.0f} a second"
    if took["erased"] < took["old"]:
        note += f"; the time for all {took['old']:,} is computed"
    vacuum = _seconds(lambda: servers.vacuum(database.url))
    return [
        Row("a month erased", took["old"] / rate, A_MONTH, unit=" s", note=note),
        Row("vacuum afterwards", vacuum, None, unit=" s", note="VACUUM ANALYZE of all tables"),
    ]


def verifying(database: Database) -> list[Row]:
    seconds = _seconds(lambda: servers.manage("audit_verify", settings=database.settings))
    return [Row("the log is verified", seconds, None, unit=" s", note="all entries")]


def restoring(database: Database, folder: Path) -> list[Row]:
    """Backs up, destroys, restores and verifies, as docs/operations.md says."""
    backup = folder / "backup"
    run = database.settings
    backed_up = _seconds(lambda: servers.manage("backup", str(backup), settings=run))
    size = (backup / "wake.dump").stat().st_size
    restored = _seconds(lambda: _restore(database, backup))
    analyzed = _seconds(lambda: _execute(database.url, "ANALYZE"))
    manifest = "--manifest", str(backup / "manifest.json")
    verified = _seconds(lambda: servers.manage("audit_verify", *manifest, settings=run))
    servers.manage("migrate", "--check", "-v0", settings=run)
    shutil.rmtree(backup)
    return [
        Row("backup", backed_up, None, unit=" s", note=f"{size / MEGABYTE:,.0f} MB"),
        Row("restore", restored, None, unit=" s", note=f"ANALYZE afterwards {analyzed:.0f} s"),
        Row("verify the restored", verified, None, unit=" s", note="audit_verify --manifest"),
    ]


class _Sender:
    """Delivers with a key of the same agent to one database."""

    def __init__(self, database: Database, port: int, pid: int) -> None:
        key = servers.manage("issue_key", AGENT, "--team", TEAM, settings=database.settings)
        body = json.dumps(hot_paths.BODY | {"agent_id": AGENT}).encode()
        self._request = http_load.request_bytes("POST", "/wake/v1/deliver", key.strip(), body)
        self._url, self._port, self._pid = database.url, port, pid

    def send(self, times: int) -> tuple[float, float]:
        """Returns the CPU seconds of the server and of PostgreSQL for each delivery, and the
        median of the times of a request."""
        before = self._cpu()
        seconds = http_load.durations(self._port, [self._request], times)
        return (self._cpu() - before) / len(seconds), statistics.median(seconds)

    def _cpu(self) -> float:
        return processes.cpu_of_tree(self._pid) + processes.cpu_of_database(self._url)


def _list_seconds(database: Database, requests: int) -> list[float]:
    rows = str(pages.ROWS)
    command = "-m", "bench.scenes.full_inbox", TEAM, rows
    cookie = json.loads(servers.run(*command, settings=database.settings))["cookie"]
    request = pages.get("/", cookie)
    with _server(database) as (port, _):
        http_load.durations(port, [request], WARM_UP, connections=1)
        return http_load.durations(port, [request], requests, connections=1)


@contextmanager
def _server(database: Database) -> Iterator[tuple[int, int]]:
    application = "wake.server.web:application", "--interface", "asginl"
    with servers.granian(*application, settings=database.settings) as server:
        yield server


def _restore(database: Database, backup: Path) -> None:
    servers.create_database(database.name)
    command = "pg_restore", "--exit-on-error", "--no-owner", f"--dbname={database.url}"
    subprocess.run([*command, str(backup / "wake.dump")], check=True)  # noqa: S603 - as in the document


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@contextmanager
def _receiver() -> Iterator[str]:
    """Starts a receiver of callbacks; yields its port."""
    command = [sys.executable, "-m", "bench.tools.receiver", "0", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        assert process.stdout  # noqa: S101 - for the type checker
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _p95(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def _seconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
