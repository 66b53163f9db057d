"""Measures how long polls take while Redis is frozen, as ratios to polls with a Redis that answers.

Redis is a separate process, which is stopped (SIGSTOP) and continued. There are many keys and the
usual read limit, so reads are counted in Redis as often as in production.
"""

from __future__ import annotations

import json
import shutil
import signal
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from bench.hot_paths import BODY
from bench.tools import http_load, servers
from bench.tools.results import Row

AGENTS = 40  # may poll 48,000 times a minute, more than a whole run does
READS_PER_MINUTE = 1_200
ACCEPT = 1.2


def measure(*, polls: int, rounds: int) -> list[Row]:
    """Alternates between an answering and a frozen Redis, so that noise affects both equally."""
    agents = [f"bench-{number}" for number in range(AGENTS)]
    keys = servers.make_database(*agents, deliveries=100)
    with _redis() as (url, process):
        settings = {"REDIS_URL": url, "WAKE_READS_PER_MINUTE": str(READS_PER_MINUTE)}
        with servers.granian(
            "wake.server.web:application", "--interface", "asginl", settings=settings
        ) as (port, _):
            requests = [_poll(port, *one) for one in zip(agents, keys, strict=True)]
            _p95(port, requests, polls)
            normal, frozen = [], []
            for _ in range(rounds):
                normal.append(_p95(port, requests, polls))
                process.send_signal(signal.SIGSTOP)
                try:
                    frozen.append(_p95(port, requests, polls))
                finally:
                    process.send_signal(signal.SIGCONT)
    usual, slowed = statistics.median(normal), statistics.median(frozen)
    note = f"p95 of a poll; {usual * 1e3:.1f} ms while Redis answers"
    return [Row("polls, frozen Redis", slowed / usual, ACCEPT, note=note)]


def _poll(port: int, agent: str, key: str) -> bytes:
    """Delivers with this key, and returns the request that polls the delivery."""
    body = json.dumps(BODY | {"agent_id": agent}).encode()
    deliver = http_load.request_bytes("POST", "/wake/v1/deliver", key, body)
    delivery = json.loads(http_load.once(port, deliver))["delivery_id"]
    return http_load.request_bytes("GET", f"/wake/v1/response/{delivery}", key)


def _p95(port: int, requests: list[bytes], times: int) -> float:
    seconds = http_load.durations(port, requests, times)
    return statistics.quantiles(seconds, n=20)[-1]


@contextmanager
def _redis() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Starts a Redis that stores nothing; yields its URL and process."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("There is no redis-server, which this measurement freezes.")
    port = servers.free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(  # noqa: S603 - a Redis of our own
            [program, "--port", str(port), "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        try:
            servers.wait_for(port)
            yield f"redis://127.0.0.1:{port}/0", process
        finally:
            process.terminate()
            process.wait()
