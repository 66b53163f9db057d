"""Measures a claim of an approval, the report of an outcome and the signed receipt, beside polls of
the same answers.

The first poll of an answer picks it up: it writes, as a claim and an outcome do. Later polls only
read, as most requests for a receipt do. So a claim and an outcome are compared with the first poll,
and a receipt with a later one.

A delivery can have only one claim and one outcome, so each request is for another delivery. The
first request for a receipt signs and stores the receipt. A later request reads the stored receipt.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from bench.tools import http_load, processes, servers
from bench.tools.results import Row

AGENT = "bench"
WARM_UP = 80
# Limits, as multiples of the cost of a poll. Decision 0083 says why they are not 1.
CLAIM, OUTCOME, SIGNED, READ, GOAL = 1.5, 1.5, 14.0, 2.0, 1.0


def measure(*, requests: int, rounds: int, deliveries: int) -> list[Row]:
    """Measures with this many earlier deliveries."""
    (key,) = servers.make_database(AGENT, deliveries=deliveries)
    count = str(WARM_UP + requests * rounds)
    approved = json.loads(servers.run("-m", "bench.scenes.approvals", AGENT, count))
    servers.vacuum()
    ratios = []
    with servers.granian("wake.server.web:application", "--interface", "asginl") as server:
        _costs(*server, key, approved[:WARM_UP])
        for round in range(rounds):
            begin = WARM_UP + round * requests
            first, later, *others = _costs(*server, key, approved[begin : begin + requests])
            beside = (first, first, later, later)
            ratios.append([cost / poll for cost, poll in zip(others, beside, strict=True)])
    medians = [statistics.median(column) for column in zip(*ratios, strict=True)]
    rows = (
        ("claim", CLAIM, "times a first poll"),
        ("outcome", OUTCOME, "times a first poll"),
        ("receipt, signed", SIGNED, "times a later poll"),
        ("receipt, read", READ, "times a later poll"),
    )
    return [
        Row(name, median, most, GOAL, note=note)
        for (name, most, note), median in zip(rows, medians, strict=True)
    ]


def _costs(port: int, pid: int, key: str, approved: Sequence[tuple[str, str]]) -> list[float]:
    """Returns the CPU seconds of six requests: the first poll, a later one, a claim, an outcome, a
    receipt that is signed, and a receipt that is read."""
    polls = [http_load.request_bytes("GET", f"/wake/v1/response/{pk}", key) for pk, _ in approved]
    claims = [_post(f"/wake/v1/claim/{pk}", key, {"digest": digest}) for pk, digest in approved]
    done = {"status": "done", "summary": "Refunded."}
    receipts = [http_load.request_bytes("GET", f"/wake/v1/receipt/{pk}", key) for pk, _ in approved]
    outcomes = [_post(f"/wake/v1/outcome/{pk}", key, done) for pk, _ in approved]
    parts = (polls, polls, claims, outcomes, receipts, receipts)
    return [_cpu_of_each(port, pid, requests) for requests in parts]


def _post(path: str, key: str, body: dict[str, str]) -> bytes:
    headers = {"Content-Type": "application/json"}
    return http_load.request_bytes("POST", path, key, json.dumps(body).encode(), headers)


def _cpu_of_each(port: int, pid: int, requests: Sequence[bytes]) -> float:
    before = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    http_load.load_each(port, requests)
    after = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    return (after - before) / len(requests)
