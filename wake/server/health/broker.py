"""Asks the broker and Redis whether they answer, with a short deadline."""

from __future__ import annotations

from contextlib import suppress

from amqp.exceptions import AMQPError
from django.conf import settings
from kombu import Connection
from kombu.exceptions import OperationalError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

SECONDS = 0.3
# Also raised for a wrong password, a missing virtual host and a wrong certificate.
RABBITMQ_ERRORS = (AMQPError, OperationalError, OSError)


def answers() -> bool:
    """Returns whether the broker answers. Without Redis, none is needed."""
    return bool(rabbitmq_version()) if settings.WAKE_USES_RABBITMQ else redis_answers()


def redis_answers() -> bool:
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


def rabbitmq_version() -> str:
    """Returns an empty text if RabbitMQ does not answer, or does not let this user in."""
    with suppress(*RABBITMQ_ERRORS):
        return ask_rabbitmq(seconds=SECONDS)
    return ""


def ask_rabbitmq(*, seconds: float) -> str:
    """Signs in to RabbitMQ and returns its version. Each step of the sign-in may take `seconds`.
    Raises RABBITMQ_ERRORS."""
    with Connection(
        settings.CELERY_BROKER_URL,
        ssl=settings.CELERY_BROKER_USE_SSL,
        connect_timeout=seconds,
        transport_options={"read_timeout": seconds, "write_timeout": seconds},
    ) as connection:
        connection.ensure_connection(max_retries=0)
        return str(connection.connection.server_properties["version"])


def _connect() -> Redis:
    return Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
