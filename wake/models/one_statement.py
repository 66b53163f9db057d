"""Stores a delivery in one statement of PostgreSQL: the stamp under the agent's lock, the key's
token, the row, its audit event and its assignment.

Step by step, as deliveries.deliver() does it otherwise, these are six round trips
(docs/decisions/0029-a-delivery-in-one-statement.md).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db import IntegrityError, connection, models

from accounts.agents import quota
from accounts.models import ApiKey, AuditEvent
from database.clock import EPOCH, microseconds
from database.compiled_queries import fields_of, insert_into, values_of
from wake.models.assigning import insert_people, people_parameters
from wake.models.deliveries import Delivery
from wake.models.rules import Assignment

# What the stamp decides. Every other column is a parameter.
STAMPED = {
    "created_at": "stamped.at",
    "activity_at": "stamped.at",
    "expires_at": "stamped.at + %s::interval",
    "at": "stamped.at",
}


def store(
    delivery: Delivery,
    event: AuditEvent,
    *,
    key: ApiKey,
    at: datetime,
    assignment: Assignment | None = None,
) -> quota.Allowance | None:
    """Inserts the rows and sets the instants of the delivery. Returns None, without an insert, if
    the key has ended or has no quota left, if its agent is paused or is not as it was remembered,
    if its team's rules have changed since, or if this Idempotency-Key was used before."""
    agent, now_us = key.agent, microseconds(at)
    interval, burst = quota.rate_of(key.mode, agent.hourly_limit)
    timeout = delivery.expires_at - delivery.created_at if delivery.expires_at else None
    parameters = [
        *(now_us, agent.pk, agent.team_id, agent.agent_id, agent.hourly_limit),
        agent.rules_version,
        *(agent.pk, key.mode, delivery.idempotency_key),
        *(now_us, interval, key.pk, agent.pk, now_us + (burst - 1) * interval, at),
        *_parameters(delivery, expires_at=timeout),
        *_parameters(event),
    ]
    if assignment and (version := assignment.rule_version):
        parameters += [
            *_parameters(assignment),
            *people_parameters(version, team_id=agent.team_id, at=at),
        ]
    try:
        with connection.cursor() as cursor:
            cursor.execute(_statement(is_assigned=assignment is not None), parameters)
            row = cursor.fetchone()
    except IntegrityError:  # the same Idempotency-Key at the same moment
        return None
    if row is None:
        return None
    activity_us, quota_us = row
    delivery.created_at = delivery.activity_at = EPOCH + timedelta(microseconds=activity_us)
    delivery.expires_at = delivery.created_at + timeout if timeout else None
    return quota.allowance_at(quota_us, now_us, interval, burst)


@cache
def _statement(*, is_assigned: bool) -> str:
    """Joins the key's row to the stamp, so the agent is locked first, as everywhere."""
    return f"""
        WITH stamped AS (
            UPDATE accounts_agent
               SET activity_us = GREATEST(activity_us + 1, %s)
             WHERE id = %s AND team_id = %s AND agent_id = %s AND paused_at IS NULL
               AND hourly_limit IS NOT DISTINCT FROM %s::integer AND rules_version = %s
               AND NOT EXISTS (
                   SELECT FROM wake_delivery
                    WHERE agent_id = %s AND lane = %s AND idempotency_key = %s::text)
            RETURNING activity_us,
                'epoch'::timestamptz + activity_us * interval '1 microsecond' AS at
        ), spent AS (
            UPDATE accounts_apikey
               SET quota_us = GREATEST(quota_us, %s) + %s
              FROM stamped
             WHERE id = %s AND agent_id = %s AND quota_us <= %s
               AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %s)
            RETURNING quota_us
        ), delivered AS (
            {insert_into(Delivery)} SELECT {_columns(Delivery)} FROM stamped, spent
        ), recorded AS (
            {insert_into(AuditEvent)} SELECT {_columns(AuditEvent)} FROM stamped, spent
        ){_assigned() if is_assigned else ""}
        SELECT activity_us, quota_us FROM stamped, spent
    """  # noqa: S608 - our own names


def _assigned() -> str:
    return f""", assigned AS (
            {insert_into(Assignment)} SELECT {_columns(Assignment)} FROM stamped, spent
            RETURNING delivery_id
        ), people AS ({insert_people()})
    """  # noqa: S608 - our own names


def _columns(model: type[models.Model]) -> str:
    """Returns what each column gets. A parameter in a SELECT needs its type; without a length, so
    that a text that is too long is refused and not cut."""
    return ", ".join(
        STAMPED.get(field.attname) or f"%s::{str(field.db_type(connection)).partition('(')[0]}"
        for field in fields_of(model)
    )


def _parameters(row: models.Model, **others: Any) -> list[Any]:
    return [
        others.get(field.attname, value)
        for field, value in zip(fields_of(type(row)), values_of(row), strict=True)
        if "%s" in STAMPED.get(field.attname, "%s")
    ]
