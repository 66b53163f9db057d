"""Redis as Celery's broker, without one way in which kombu's stops taking messages for ever.

A worker that cannot tell Redis that a message is done keeps it in its count of those it is at, and
the error is swallowed. Where all its hands were full when the connection was lost, that count is at
its limit from then on: it neither takes anything nor looks at the connection, so it never finds out
that it has to be made again.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES, redis, virtual


class QoS(redis.QoS):
    def ack(self, delivery_tag: str) -> None:
        """What Redis was not told it gives out again, after `visibility_timeout`."""
        try:
            super().ack(delivery_tag)
        finally:
            virtual.QoS.ack(self, delivery_tag)  # does nothing the second time


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "wake.server.work.redis_broker:Transport")
