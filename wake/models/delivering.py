"""Defines the writes that store a delivery, and their conditions."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import BooleanField, Exists, Q

from accounts.agents import quota
from accounts.models import Agent, AuditEvent
from database.compiled_queries import Parameter, parameter
from database.write_chains import Chain, GivenDelay, Lock, New
from wake.models.cursor import stamp
from wake.models.deliveries import Delivery
from wake.models.rules import Assignment

STAMP = GivenDelay("stamp", "activity_us")


@cache
def delivering(*, with_key: bool, is_internal: bool, is_assigned: bool) -> Chain:
    """Returns the chain of writes that stamps the agent, spends a token of the key (if there is a
    key), and inserts the delivery and its audit event.

    Its conditions are `agent_as_read` (the agent's team, id, limit and rules have not changed since
    they were read), `agent_runs`, `first_use` of the Idempotency-Key, `assignment_current`, the
    conditions of the key (accounts/agents/quota.py), and `may_deliver`, which the caller knows.
    """
    agent = Lock(
        "agent",
        Agent.objects.filter(pk=parameter("agent", Agent, "id")),
        conditions=_conditions(is_internal=is_internal, is_assigned=is_assigned),
    )
    locks, changes = [agent], [stamp(agent)]
    if with_key:
        key, spent = quota.spending()
        locks, changes = [*locks, key], [*changes, spent]
    delivery = New("delivery", Delivery, created_at=STAMP, activity_at=STAMP, expires_at=STAMP)
    return Chain(*locks, *changes, delivery, New("event", AuditEvent, at=STAMP))


def values_of(agent: Agent, delivery: Delivery) -> dict[str, Any]:
    """Returns the values of the parameters: how the agent was read, and what to store."""
    return {
        "agent": agent.pk,
        "team": agent.team_id,
        "agent_id": agent.agent_id,
        "hourly_limit": agent.hourly_limit,
        "rules_version": agent.rules_version,
        "mode": delivery.mode,
        "idempotency_key": delivery.idempotency_key,
        "assignment": delivery.assignment_id,
    }


def _conditions(*, is_internal: bool, is_assigned: bool) -> dict[str, Any]:
    of_agent = Delivery.objects.of_agent(
        parameter("agent", Agent, "id"), parameter("mode", Delivery, "mode")
    )
    earlier = of_agent.filter(
        idempotency_key=parameter("idempotency_key", Delivery, "idempotency_key")
    )
    conditions: dict[str, Any] = {
        "may_deliver": Parameter("may_deliver", BooleanField()),
        "agent_as_read": Q(
            team=parameter("team", Agent, "team"),
            agent_id=parameter("agent_id", Agent, "agent_id"),
            hourly_limit__same_as=parameter("hourly_limit", Agent, "hourly_limit"),
            rules_version=parameter("rules_version", Agent, "rules_version"),
        ),
        "first_use": ~Exists(earlier),
    }
    if not is_internal:
        conditions["agent_runs"] = Q(paused_at__isnull=True)
    if is_assigned:
        assignment = Assignment.objects.filter(
            pk=parameter("assignment", Assignment, "id"),
            current_until__gt=parameter("at", Assignment, "current_until"),
        )
        conditions["assignment_current"] = Exists(assignment)
    return conditions
