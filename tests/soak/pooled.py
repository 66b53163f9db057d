"""A minute of load through PgBouncer in transaction mode, with two web processes. PostgreSQL is
restarted at once after half of it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.soak import load
from tests.stress.faults.servers import Postgres, RedisServer
from tests.wake.server.run.pooler import PooledSite

SECONDS = 60


def run(folder: Path) -> list[str]:
    return load.run_on(_site, folder, _restart_once, seconds=SECONDS)


def _site(folder: Path, postgres: Postgres, redis: RedisServer) -> PooledSite:
    return PooledSite(folder, redis_url=redis.url, server=postgres.url, hold_seconds=1)


def _restart_once(soak: load.Soak) -> None:
    time.sleep(SECONDS / 2)
    with load.recorded(soak, "PostgreSQL restarted at once"):
        soak.postgres.stop()
        soak.postgres.start()
    time.sleep(SECONDS / 2)
