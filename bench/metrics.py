"""Measures what metrics cost: the CPU that measuring a request takes, as a share of a delivery and
of a poll.

Two servers, one with metrics and one without, differ by less than their noise. So what measuring
adds is measured in one process (bench/scenes/measured_requests.py), and the requests on a server.
"""

from __future__ import annotations

import json
import statistics
import tempfile

from bench.hot_paths import BODY, WARM_UP
from bench.tools import http_load, processes, servers
from bench.tools.results import Row

ACCEPT = 1.0  # per cent
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where `manage.py up` has the files


def measure(*, requests: int, rounds: int) -> list[Row]:
    (key,) = servers.make_database("bench", deliveries=1_000)
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        measured = {
            "WAKE_METRICS_TOKEN": "a-token-of-the-bench",
            "PROMETHEUS_MULTIPROC_DIR": folder,
        }
        added = float(servers.run("-m", "bench.scenes.measured_requests", settings=measured))
    with servers.granian("wake.server.web:application", "--interface", "asginl") as (port, pid):
        deliver = http_load.request_bytes("POST", "/wake/v1/deliver", key, _body())
        delivery = json.loads(http_load.once(port, deliver))["delivery_id"]
        poll = http_load.request_bytes("GET", f"/wake/v1/response/{delivery}", key)
        costs = {
            name: _cpu(port, pid, request, requests, rounds)
            for name, request in {"deliver": deliver, "poll": poll}.items()
        }
    return [
        Row(
            f"metrics of a {name}",
            100 * added / cost,
            ACCEPT,
            unit="%",
            note=f"CPU: {added * 1e6:.1f} of {cost * 1e6:.0f} us on the server",
        )
        for name, cost in costs.items()
    ]


def _body() -> bytes:
    return json.dumps(BODY).encode()


def _cpu(port: int, pid: int, request: bytes, times: int, rounds: int) -> float:
    """Returns the server's CPU seconds for each request, without those of the database."""
    http_load.load(port, request, WARM_UP)
    costs = []
    for _ in range(rounds):
        before = processes.cpu_of_tree(pid)
        http_load.load(port, request, times)
        costs.append((processes.cpu_of_tree(pid) - before) / times)
    return statistics.median(costs)
