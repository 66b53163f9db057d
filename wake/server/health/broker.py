"""Asks the broker whether it answers, with a short deadline."""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

REDIS_SECONDS = 0.3


def answers() -> bool:
    """Returns whether the broker answers. Without Redis, none is needed."""
    if not settings.REDIS_URL:
        return True
    redis = _connect()
    try:
        return bool(redis.ping())
    except (RedisError, OSError):
        return False
    finally:
        redis.close()


def redis_version() -> str:
    """Returns an empty text if Redis does not answer, or does not let this user ask."""
    redis = _connect()
    try:
        with suppress(RedisError, OSError):
            return str(redis.info("server")["redis_version"])
        return ""
    finally:
        redis.close()


def _connect() -> Redis:
    return Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
