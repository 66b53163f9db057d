"""Measures a delivery, a poll and a sweep of 50 on Wake, on the lean reference and on PostgreSQL
alone.

All three run on the same database. Each round measures each of the nine combinations once, in turn,
so that noise affects all of them equally.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable
from datetime import UTC
from uuid import UUID

import psycopg

from bench.references.postgresql_alone import DETAILS, DurableWork
from bench.tools import http_load, processes, servers
from bench.tools.results import Row

ACCEPT, GOAL = 1.5, 1.0
WARM_UP = 200
PAGE = 50
BODY = {
    "agent_id": "bench",
    "provider": "claude",
    "type": "output",
    "headline": "Market report ready for your review",
    "summary": "Analysed the ten largest competitors in the space.",
    "details": json.loads(DETAILS),
    "timeout_seconds": 3600,
}
Measure = Callable[[int], float]


def measure(*, requests: int, rounds: int, deliveries: int) -> list[Row]:
    costs = medians(requests=requests, rounds=rounds, deliveries=deliveries)
    return [_row(name, *cost) for name, cost in costs.items()]


def medians(*, requests: int, rounds: int, deliveries: int) -> dict[str, tuple[float, ...]]:
    """Returns the CPU seconds of each path for Wake, for the lean reference and for PostgreSQL
    alone."""
    keys = servers.make_database("bench", "reader", deliveries=deliveries)
    with (
        servers.granian("wake.server.web:application", "--interface", "asginl") as wake,
        servers.granian(
            "bench.references.lean:application",
            *("--interface", "wsgi", "--blocking-threads", str(servers.THREADS)),
        ) as lean,
    ):
        paths = _paths(keys, *wake, *lean)
        for path in paths.values():
            for run in path:
                run(WARM_UP)
        measurements: dict[str, list[tuple[float, ...]]] = {name: [] for name in paths}
        for _ in range(rounds):
            for name, path in paths.items():
                measurements[name].append(tuple(run(requests) for run in path))
    return {
        name: tuple(statistics.median(column) for column in zip(*measured, strict=True))
        for name, measured in measurements.items()
    }


def _paths(
    keys: list[str], wake_port: int, wake_pid: int, lean_port: int, lean_pid: int
) -> dict[str, tuple[Measure, Measure, Measure]]:
    """Returns the measurements of each path: Wake, the lean reference, PostgreSQL alone."""
    body = json.dumps(BODY).encode()
    deliver = http_load.request_bytes("POST", "/wake/v1/deliver", keys[0], body)
    delivery = json.loads(http_load.once(wake_port, deliver))["delivery_id"]
    # The reader sweeps the same 50 deliveries, however many the other agent adds meanwhile.
    agent, reader = _agents()
    since = _cursor_before(reader, PAGE)
    poll = http_load.request_bytes("GET", f"/wake/v1/response/{delivery}", keys[0])
    sweep = http_load.request_bytes("GET", f"/wake/v1/responses?since={since}", keys[1])
    _same_answers(wake_port, lean_port, poll, sweep)
    alone = DurableWork(agent, reader, delivery, since)

    def served(port: int, pid: int, request: bytes) -> Measure:
        return lambda times: cpu_of_server(port, pid, request, times)

    requests = (deliver, alone.deliver), (poll, alone.poll), (sweep, alone.sweep)
    return {
        name: (served(wake_port, wake_pid, request), served(lean_port, lean_pid, request), work)
        for name, (request, work) in zip(("deliver", "poll", "sweep of 50"), requests, strict=True)
    }


def _agents() -> list[UUID]:
    with psycopg.connect(servers.DATABASE) as connection:
        return [
            pk for (pk,) in connection.execute("SELECT id FROM accounts_agent ORDER BY created_at")
        ]


def _cursor_before(reader: UUID, rows: int) -> str:
    """Returns a cursor of this agent that is followed by this many deliveries."""
    with psycopg.connect(servers.DATABASE) as connection:
        ((at,),) = connection.execute(
            "SELECT activity_at FROM wake_delivery WHERE agent_id = %s"
            " ORDER BY activity_at DESC OFFSET %s LIMIT 1",
            [reader, rows],
        ).fetchall()
    return str(at.astimezone(UTC).isoformat()).replace("+00:00", "Z")


def _same_answers(wake_port: int, lean_port: int, *requests: bytes) -> None:
    """Ends the program if the servers answer differently."""
    for request in requests:
        answers = [json.loads(http_load.once(port, request)) for port in (wake_port, lean_port)]
        if answers[0] != answers[1]:
            raise SystemExit(f"The servers answer differently: {answers}")


def cpu_of_server(port: int, pid: int, request: bytes, times: int) -> float:
    """Returns the CPU seconds of the server and of PostgreSQL for each request."""
    before = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    http_load.load(port, request, times)
    after = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    return (after - before) / times


def _row(name: str, wake: float, lean: float, alone: float) -> Row:
    note = f"{wake / alone:.1f}x PostgreSQL alone; the lean reference {lean / alone:.1f}x"
    if "BENCH_MICROSECONDS" in os.environ:
        note += f" ({wake * 1e6:.0f}, {lean * 1e6:.0f}, {alone * 1e6:.0f} us)"
    return Row(name, wake / lean, ACCEPT, GOAL, note=note)
