"""Assigns the instants by which an agent sweeps, so that commit order is cursor order
(docs/protocol.md, Time, order, cursor).

A stamp is assigned while the agent's row is locked, and the lock lasts until the commit that makes
the change visible. A later change waits and gets a later stamp. So a sweep that has seen a stamp
has seen everything before it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django.db.transaction import TransactionManagementError

from accounts.models import Agent
from database.clock import EPOCH, microseconds


def stamp_activity(agent: Agent, *, at: datetime) -> datetime:
    """Locks the agent for the rest of the transaction; returns `at`, or the microsecond after the
    last stamp if that is later. Also reads, as they are under the lock, the agent's `rules_version`
    and whether it is paused."""
    if not connection.in_atomic_block:
        raise TransactionManagementError("A stamp holds only as long as its transaction.")
    now_us = microseconds(at)
    pk = agent.pk if connection.vendor == "postgresql" else agent.pk.hex
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounts_agent
               SET activity_us = CASE WHEN activity_us >= %s THEN activity_us + 1 ELSE %s END
             WHERE id = %s
            RETURNING activity_us, rules_version, paused_at
            """,
            [now_us, now_us, pk],
        )
        activity_us, agent.rules_version, paused = cursor.fetchone()
    # SQLite returns a text. Its `IS NOT NULL` is wrong here: it was true of a null (3.40.1).
    agent.paused_at = None if paused is None else agent.paused_at or at
    return EPOCH + timedelta(microseconds=activity_us)
