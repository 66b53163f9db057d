"""Starts a server with its own PostgreSQL and Redis, whose parts a fault can stop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from tests.stress.faults.servers import NotHere, Postgres, RabbitMQ, RedisServer, SmallDisk
from tests.stress.faults.site import Site


@dataclass
class Parts:
    postgres: Postgres
    redis: RedisServer
    broker: RedisServer | RabbitMQ
    disk: SmallDisk | None
    site: Site
    origin: str


@contextmanager
def running(folder: Path, *, small_disk: bool) -> Iterator[Parts]:
    if not settings.DATABASE_URL:
        pytest.skip("about servers: run once, with PostgreSQL")
    try:
        postgres, redis = Postgres(), RedisServer()
    except NotHere as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    disk = postgres.on_a_small_disk() if small_disk else None
    site = Site(folder, redis_url=redis.url, server=postgres.url, hold_seconds=1)
    web = site.start_web()
    site.start_worker()
    site.start_beat()
    yield Parts(postgres, redis, redis, disk, site, web.origin)
    site.end()
    redis.kill()
    postgres.end()
