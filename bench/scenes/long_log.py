"""Records events, appends them to the log, and measures proofs and verification (bench/log.py):
`python -m bench.scenes.long_log COUNT`."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import django

django.setup()

import psycopg

from accounts.log import signed_tree, sweep, tree
from accounts.log.verification import verify
from bench.tools import servers
from database.clock import database_now

TEAMS = 20
PROOFS = 500
RECORD = """
    INSERT INTO accounts_auditevent (at, team_id, event, actor_kind, actor_id, actor_name,
        object_kind, object_id, object_name, address, detail)
    SELECT now(), 1 + n %% %s, 'delivery.received', 'agent', 'a1b2', 'billing', 'delivery',
        gen_random_uuid(), '', '192.0.2.7', '{"content_hash": "0123456789abcdef"}'
    FROM generate_series(1, %s) n
"""


def main(count: int) -> None:
    # Wake's own connections end a statement after ten seconds.
    with psycopg.connect(servers.DATABASE, autocommit=True) as connection:
        connection.execute(RECORD, [TEAMS, count])
    append = _seconds(lambda: sweep.append_new(at=database_now(), seconds=3600))
    servers.vacuum()
    size = tree.size()
    chance = random.Random(1)  # noqa: S311 - nothing here is a secret
    inclusion = [
        _seconds(lambda: tree.inclusion_proof(chance.randrange(size), size)) for _ in range(PROOFS)
    ]
    consistency = [
        _seconds(lambda: tree.consistency_proof(chance.randrange(1, size), size))
        for _ in range(PROOFS)
    ]
    everything = _seconds(lambda: verify(from_start=True))
    signed_tree.remember_verification(size, tree.root(size))
    again = _seconds(verify)
    print(  # noqa: T201 - read by bench/log.py
        json.dumps(
            {
                "append": append / size,
                "inclusion": statistics.median(inclusion),
                "consistency": statistics.median(consistency),
                "everything": everything,
                "again": again,
            }
        )
    )


def _seconds(do: Callable[[], object]) -> float:
    before = time.perf_counter()
    do()
    return time.perf_counter() - before


main(int(sys.argv[1]))
