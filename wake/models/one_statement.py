"""Stores a delivery in one statement of PostgreSQL: the stamp under the agent's lock, the key's
token, the row and its audit event.

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
from wake.models.deliveries import Delivery

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
    "steps_done": "0",
    "answered_at": "NULL",
    "timed_out_at": "NULL",
    "superseded_at": "NULL",
    "withdrawn_at": "NULL",
    "acknowledged_at": "NULL",
    "erased_at": "NULL",
}
IS_CURRENT = """
    AND EXISTS (SELECT FROM wake_assignment WHERE delivery_id = %s AND current_until > %s)
"""
UNASSIGNED = {**GIVEN, "assignment_id": "NULL", "escalates_at": "NULL"}


def store(
    delivery: Delivery, event: AuditEvent, *, key: ApiKey, at: datetime
) -> quota.Allowance | None:
    """Inserts the rows and sets the instants of the delivery. Returns None, without an insert, if
    the key has ended or has no quota left, if its agent is paused or is not as it was remembered,
    if its team's rules have changed since, if the assignment is not current any more, or if this
    Idempotency-Key was used before."""
    agent, now_us = key.agent, microseconds(at)
    interval, burst = quota.rate_of(key.mode, agent.hourly_limit)
    timeout = delivery.expires_at - delivery.created_at if delivery.expires_at else None
    assignment_id = delivery.assignment_id
    parameters = [
        *(now_us, agent.pk, agent.team_id, agent.agent_id, agent.hourly_limit),
        agent.rules_version,
        *(agent.pk, key.mode, delivery.idempotency_key),
        *((assignment_id, at) if assignment_id else ()),
        *(now_us, interval, key.pk, now_us + (burst - 1) * interval, at),
        *parameters_of(delivery, GIVEN if assignment_id else UNASSIGNED, expires_at=timeout),
        *parameters_of(event, GIVEN),
    ]
    try:
        with connection.cursor() as cursor:
            cursor.execute(_statement(is_assigned=assignment_id is not None), parameters)
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
    because psycopg does not cache the parsing of statements above 4,096 characters."""
    statement = f"""
        WITH stamped AS (
            UPDATE accounts_agent
               SET activity_us = GREATEST(activity_us + 1, %s)
             WHERE id = %s AND team_id = %s AND agent_id = %s AND paused_at IS NULL
               AND hourly_limit IS NOT DISTINCT FROM %s::integer AND rules_version = %s
               AND NOT EXISTS (
                   SELECT FROM wake_delivery
                    WHERE agent_id = %s AND lane = %s AND idempotency_key = %s::text)
               {IS_CURRENT if is_assigned else ""}
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
            {insert_from("stamped, spent", Delivery, GIVEN if is_assigned else UNASSIGNED)}
        ), recorded AS (
            {insert_from("stamped, spent", AuditEvent, GIVEN)}
        )
        SELECT activity_us, quota_us FROM stamped, spent
    """  # noqa: S608 - our own names
    return " ".join(statement.split())
