"""Assigns the instants that an agent's sweeps read by, so that commit order is cursor order
(docs/protocol.md, Time, order, cursor).

A stamp is assigned while the agent's row is locked, and the lock lasts until the commit that makes
the change visible. A later change waits and gets a later stamp. So a sweep that has seen a stamp
has seen all earlier changes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest
from django.db.transaction import TransactionManagementError

from accounts.models import Agent
from database.clock import EPOCH, microseconds
from database.compiled_queries import parameter
from database.write_chains import NOW_US, Chain, Change, Lock


def stamp_activity(agent: Agent, *, at: datetime) -> datetime:
    """Locks the agent for the rest of the transaction; returns `at`, or the microsecond after the
    last stamp if that is later."""
    if not connection.in_atomic_block:
        raise TransactionManagementError("A stamp holds only as long as its transaction.")
    stored = _stamp_alone().store(agent=agent.pk, now_us=microseconds(at))
    return EPOCH + timedelta(microseconds=stored.columns["stamp", "activity_us"])


def stamp(agent: Lock) -> Change:
    """Returns the step with which a chain of writes stamps the agent that it has locked. The stamp
    is in the column `activity_us`."""
    after = Greatest(F("activity_us") + 1, NOW_US)
    return Change("stamp", agent, returns=["activity_us"], activity_us=after)


@cache
def _stamp_alone() -> Chain:
    agent = Lock("agent", Agent.objects.filter(pk=parameter("agent", Agent, "id")))
    return Chain(agent, stamp(agent))
