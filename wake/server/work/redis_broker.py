"""Fixes a fault in kombu's Redis transport, after which a worker takes no message any more.

If a worker cannot acknowledge a message, kombu hides the error and keeps the message in its count
of unacknowledged ones. If the worker was at its limit when the connection was lost, the count stays
there: the worker takes nothing, does not look at the connection, and never reconnects.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES, redis, virtual


class QoS(redis.QoS):
    def ack(self, delivery_tag: str) -> None:
        """Removes the message from the count even if Redis cannot be told. Redis then delivers it
        again after `visibility_timeout`."""
        try:
            super().ack(delivery_tag)
        finally:
            virtual.QoS.ack(self, delivery_tag)  # does nothing the second time


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "wake.server.work.redis_broker:Transport")
