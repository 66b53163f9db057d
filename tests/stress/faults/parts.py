"""Names the servers that a fault can stop."""

from __future__ import annotations

from dataclasses import dataclass

from tests.stress.faults.servers import Postgres, RabbitMQ, RedisServer, SmallDisk
from tests.stress.faults.site import Site


@dataclass
class Parts:
    postgres: Postgres
    redis: RedisServer
    broker: RedisServer | RabbitMQ
    disk: SmallDisk | None
    site: Site
    origin: str
