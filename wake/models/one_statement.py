"""Stores a delivery in one statement of PostgreSQL: the stamp under the agent's lock, the key's
token, the row, its audit event and its assignment.

Step by step, as deliveries.deliver() does it otherwise, these are six round trips
(docs/decisions/0029-a-delivery-in-one-statement.md).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from django.db import IntegrityError, connection

from accounts.agents import quota
from accounts.models import ApiKey, AuditEvent
from database.clock import EPOCH, microseconds
from database.compiled_queries import insert_from, parameters_of
from wake.models.assigning import insert_people, named, named_columns
from wake.models.deliveries import Delivery
from wake.models.rules import Assignment

# What the stamp decides, and what a new delivery does not have yet. Every other column is a
# parameter. psycopg parses a statement with more than 50 of them each time that it is run.
GIVEN = {
    "team_id": "stamped.team_id",
    "agent_id": "stamped.id",
    "created_at": "stamped.at",
    "activity_at": "stamped.at",
    "expires_at": "stamped.at + %s::interval",
    "at": "stamped.at",
    "status": f"'{Delivery.Status.PENDING}'",
    "is_internal": "false",
    "withdrawn_reason": "''",
    "acknowledged_by": "''",
    "supersedes_id": "NULL",
    "answered_at": "NULL",
    "timed_out_at": "NULL",
    "superseded_at": "NULL",
    "withdrawn_at": "NULL",
    "acknowledged_at": "NULL",
    "erased_at": "NULL",
}
OF_THE_ASSIGNMENT = {"delivery_id": "delivered.id", "steps_done": "0"}


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
        *(now_us, interval, key.pk, now_us + (burst - 1) * interval, at),
        *parameters_of(delivery, GIVEN, expires_at=timeout),
        *parameters_of(event, GIVEN),
    ]
    if assignment and (version := assignment.rule_version):
        parameters += [
            *parameters_of(assignment, OF_THE_ASSIGNMENT),
            *named(version.people, version.role),
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
    """Joins the key's row to the stamp, so the agent is locked first, as everywhere. On one line,
    because psycopg does not keep what it parsed of statements above 4,096 characters."""
    statement = f"""
        WITH stamped AS (
            UPDATE accounts_agent
               SET activity_us = GREATEST(activity_us + 1, %s)
             WHERE id = %s AND team_id = %s AND agent_id = %s AND paused_at IS NULL
               AND hourly_limit IS NOT DISTINCT FROM %s::integer AND rules_version = %s
               AND NOT EXISTS (
                   SELECT FROM wake_delivery
                    WHERE agent_id = %s AND lane = %s AND idempotency_key = %s::text)
            RETURNING id, team_id, activity_us,
                'epoch'::timestamptz + activity_us * interval '1 microsecond' AS at
        ), spent AS (
            UPDATE accounts_apikey
               SET quota_us = GREATEST(quota_us, %s) + %s
              FROM stamped
             WHERE accounts_apikey.id = %s AND agent_id = stamped.id AND quota_us <= %s
               AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %s)
            RETURNING quota_us
        ), delivered AS (
            {insert_from("stamped, spent", Delivery, GIVEN)} RETURNING id
        ), recorded AS (
            {insert_from("stamped, spent", AuditEvent, GIVEN)}
        ){_assigned() if is_assigned else ""}
        SELECT activity_us, quota_us FROM stamped, spent
    """  # noqa: S608 - our own names
    return " ".join(statement.split())


def _assigned() -> str:
    return f""", stored AS (
            {insert_from("delivered", Assignment, OF_THE_ASSIGNMENT)} RETURNING delivery_id
        ), assigned AS (
            SELECT stored.delivery_id, stamped.team_id, stamped.at, {named_columns()}
              FROM stored, stamped
        ), people AS ({insert_people()})
    """  # noqa: S608 - our own names
