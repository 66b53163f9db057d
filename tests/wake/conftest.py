"""Provides a Redis, a RabbitMQ and a whole server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.fixtures.rabbitmq import virtual_host
from tests.stress.faults.servers import NotHere
from tests.wake.callbacks.world import World


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """Returns a separate database of a real Redis."""
    server = urlsplit(os.environ.get("REDIS_URL") or "redis://127.0.0.1:6379")
    for number in range(15, 4, -1):
        url = server._replace(path=f"/{number}").geturl()
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as redis:
            try:
                is_ours = redis.set("taken-by-a-test", os.getpid(), nx=True, ex=1_800)
            except RedisError:
                if os.environ.get("CI"):
                    raise
                pytest.skip("Redis does not answer")
            if is_ours and redis.dbsize() == 1:
                yield url
                redis.flushdb()
                return
    pytest.fail("Every database of this Redis is in use")


@pytest.fixture(scope="module")
def rabbitmq_url() -> Iterator[str]:
    """Returns a separate virtual host of a real RabbitMQ. The project promises none, so a test is
    skipped where none answers."""
    try:
        with virtual_host() as url:
            yield url
    except NotHere as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def make_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., World]]:
    worlds: list[World] = []

    def make(**given: Any) -> World:
        worlds.append(World(tmp_path_factory.mktemp("data"), **given))
        return worlds[-1]

    yield make
    for world in worlds:
        world.end()
