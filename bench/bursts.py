"""Counts how many of a hundred simultaneous requests are refused."""

from __future__ import annotations

import json
import threading

from bench.hot_paths import BODY
from bench.tools import http_load, servers
from bench.tools.results import Row

CROWD = 100


def measure(*, rounds: int) -> list[Row]:
    (key,) = servers.make_database("bench", deliveries=1_000)
    request = http_load.request_bytes("POST", "/wake/v1/deliver", key, json.dumps(BODY).encode())
    with servers.granian("wake.server.web:application", "--interface", "asginl") as (port, _):
        refused = sum(_refused(port, request) for _ in range(rounds))
    note = f"deliveries, {rounds} times, with {servers.THREADS + 1} connections to PostgreSQL"
    return [Row("100 at once, refused", refused, 0, unit="", note=note)]


def _refused(port: int, request: bytes) -> int:
    """Sends a request from each of CROWD threads at the same moment; returns how many failed."""
    together = threading.Barrier(CROWD)
    failures: list[BaseException] = []

    def send() -> None:
        together.wait()
        try:
            http_load.once(port, request)
        except (OSError, SystemExit) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=send) for _ in range(CROWD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(failures)
