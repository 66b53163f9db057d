"""Names the servers that a fault can stop."""

from __future__ import annotations

from dataclasses import dataclass

from tests.stress.faults.servers import Postgres, RedisServer, SmallDisk
from tests.stress.faults.site import Site


@dataclass
class Parts:
    postgres: Postgres
    redis: RedisServer
    disk: SmallDisk | None
    site: Site
    origin: str
