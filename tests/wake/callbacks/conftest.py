"""Provides a Redis, a whole server, and the callback of an answered delivery."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.exceptions import RedisError

from accounts.agents.signing_secrets import secrets_of
from accounts.models import Agent, User
from tests.types import Answer, MakeDelivery
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import World
from wake.models import Callback


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
def make_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**given: Any) -> World:
        made.append(World(tmp_path_factory.mktemp("data"), **given))
        return made[-1]

    yield make
    for world in made:
        world.end()


@pytest.fixture
def secret(agent: Agent) -> str:
    return secrets_of(agent.pk)[0]


@pytest.fixture
def answered(
    receiver: Receiver,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> Callable[..., Callback]:
    """Creates a due callback of a delivery that Alice has answered."""

    def make(
        status: str = "approved", *, url: str = "", feedback: str = "", **fields: Any
    ) -> Callback:
        delivery = make_delivery(callback_webhook=url or receiver.url, **fields)
        return answer(delivery, status, feedback=feedback).callback

    return make


@pytest.fixture
def other_team_id(mallory: User) -> int:
    return mallory.memberships.get().team_id
