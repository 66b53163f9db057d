"""Fixes a fault in kombu's Redis transport, after which a worker takes no more messages.

If a worker cannot acknowledge a message, kombu hides the error and still counts the message as
unacknowledged. If the worker was at its limit when the connection was lost, the count stays at the
limit: the worker takes nothing, does not look at the connection, and never reconnects.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES, redis, virtual


class QoS(redis.QoS):
    def ack(self, delivery_tag: str) -> None:
        """Removes the message from the count even if Redis cannot be reached. Redis then delivers
        it again after `visibility_timeout`."""
        try:
            super().ack(delivery_tag)
        finally:
            virtual.QoS.ack(self, delivery_tag)  # a second call does nothing


class RedisChannel(redis.Channel):
    QoS = QoS


class RedisTransport(redis.Transport):
    Channel = RedisChannel


TRANSPORT_ALIASES |= dict.fromkeys(
    ("redis", "rediss"), "wake.server.work.redis_broker:RedisTransport"
)
