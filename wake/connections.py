"""What a database that is away looks like, and what became of the connections to it."""

from __future__ import annotations

from typing import Any

from django.db import InterfaceError, OperationalError, connection
from psycopg_pool import PoolTimeout

DATABASE_AWAY = (OperationalError, InterfaceError, PoolTimeout)


def forget_dead(failure: BaseException | None) -> None:
    """Where a request got no connection although the pool has some, these are dead, and each pair
    of them would cost another request its whole second (psycopg_pool's pause between checks)."""
    if isinstance(failure, PoolTimeout) or isinstance(
        getattr(failure, "__cause__", None), PoolTimeout
    ):
        pool: Any = connection.pool  # type: ignore[attr-defined]
        if pool.get_stats()["pool_available"]:
            pool.drain()
