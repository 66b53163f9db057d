"""Measures a claim of an approval, the report of an outcome and the signed receipt, beside a poll
of the same answers.

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
# Limits, as multiples of the cost of a poll for an answer that was picked up before. Such a poll
# writes nothing.
CLAIM, OUTCOME, SIGNED, READ, GOAL = 4.0, 4.0, 6.0, 2.0, 1.0


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
            poll, *others = _costs(*server, key, approved[begin : begin + requests])
            ratios.append([cost / poll for cost in others])
    medians = [statistics.median(column) for column in zip(*ratios, strict=True)]
    accepted = {
        "claim": CLAIM,
        "outcome": OUTCOME,
        "receipt, signed": SIGNED,
        "receipt, read": READ,
    }
    return [
        Row(name, median, most, GOAL, note="times a poll")
        for (name, most), median in zip(accepted.items(), medians, strict=True)
    ]


def _costs(port: int, pid: int, key: str, approved: Sequence[tuple[str, str]]) -> list[float]:
    """Returns the CPU seconds of five requests: a poll, a claim, an outcome, a receipt that is
    signed, and a receipt that is read."""
    polls = [http_load.request_bytes("GET", f"/wake/v1/response/{pk}", key) for pk, _ in approved]
    claims = [_post(f"/wake/v1/claim/{pk}", key, {"digest": digest}) for pk, digest in approved]
    done = {"status": "done", "summary": "Refunded."}
    receipts = [http_load.request_bytes("GET", f"/wake/v1/receipt/{pk}", key) for pk, _ in approved]
    outcomes = [_post(f"/wake/v1/outcome/{pk}", key, done) for pk, _ in approved]
    http_load.load_each(port, polls)  # picks the answers up, so that the polls below only read
    parts = (polls, claims, outcomes, receipts, receipts)
    return [_cpu_of_each(port, pid, requests) for requests in parts]


def _post(path: str, key: str, body: dict[str, str]) -> bytes:
    headers = {"Content-Type": "application/json"}
    return http_load.request_bytes("POST", path, key, json.dumps(body).encode(), headers)


def _cpu_of_each(port: int, pid: int, requests: Sequence[bytes]) -> float:
    before = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    http_load.load_each(port, requests)
    after = processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)
    return (after - before) / len(requests)
