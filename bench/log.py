"""Measures the log: a sweep, proofs, and the verification of all entries."""

from __future__ import annotations

import json

from bench.tools import servers
from bench.tools.results import Row

SWEEP, PROOF = 1_000.0, 5.0  # milliseconds (docs/decisions/0076-the-log-is-a-merkle-tree.md)
AT_ONCE = 1_000


def measure(*, entries: int) -> list[Row]:
    servers.make_database("bench", deliveries=0)
    seconds = json.loads(servers.run("-m", "bench.scenes.long_log", str(entries)))
    note = f"{entries:,} entries; all are verified in {seconds['everything']:.0f} s"
    return [
        Row("sweep of 1,000 events", seconds["append"] * AT_ONCE * 1000, SWEEP, unit=" ms"),
        Row("inclusion proof", seconds["inclusion"] * 1000, PROOF, unit=" ms"),
        Row("consistency proof", seconds["consistency"] * 1000, PROOF, unit=" ms", note=note),
        Row("next verification", seconds["again"] * 1000, entries / 100, unit=" ms"),
    ]
