"""Marks answers as picked up by their agent, and records it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.functions import Coalesce

from accounts.audit import SYSTEM, event_of, record_many
from accounts.models import AuditEvent
from database.compiled_queries import insert_from, parameters_of
from wake.models.deliveries import Delivery
from wake.models.responses import Response

EVENT = "response.picked_up"
EVENT_COLUMNS = {
    "team_id": "delivery.team_id",
    "object_id": "delivery.id::text",
    "detail": "%s::jsonb || jsonb_build_object('content_hash', delivery.content_hash)",
}


def mark_picked_up(response_ids: Sequence[UUID], *, route: str, at: datetime, **detail: Any) -> int:
    """Marks the released answers among `response_ids` that were not picked up before, and returns
    how many. From now on none of them can be taken back. Call it in a transaction. The answers are
    locked in the order of their ids; on PostgreSQL it is one statement with their audit events."""
    if connection.vendor != "postgresql":
        return _mark_step_by_step(response_ids, route=route, at=at, detail=detail)
    event = event_of(
        EVENT, by=SYSTEM, of=Delivery(), team_id=None, at=at, detail={"route": route, **detail}
    )
    parameters = [list(response_ids), at, at, route, *parameters_of(event, EVENT_COLUMNS)]
    with connection.cursor() as cursor:
        cursor.execute(_statement(), parameters)
        return int(cursor.rowcount)


@cache
def _statement() -> str:
    """Returns the statement on one line, because psycopg does not cache the parsing of statements
    above 4,096 characters."""
    picked = "picked JOIN wake_delivery AS delivery ON delivery.id = picked.delivery_id"
    statement = f"""
        WITH fresh AS (
            SELECT id FROM wake_response
             WHERE id = ANY(%s) AND responded_at IS NOT NULL AND picked_up_at IS NULL
             ORDER BY id FOR UPDATE
        ), picked AS (
            UPDATE wake_response AS response
               SET sent_at = COALESCE(sent_at, %s), picked_up_at = %s, picked_up_by = %s
              FROM fresh WHERE response.id = fresh.id
            RETURNING delivery_id
        )
        {insert_from(picked, AuditEvent, EVENT_COLUMNS)}
    """  # noqa: S608 - our own names
    return " ".join(statement.split())


def _mark_step_by_step(
    response_ids: Sequence[UUID], *, route: str, at: datetime, detail: dict[str, Any]
) -> int:
    fresh = Response.objects.filter(
        pk__in=response_ids, responded_at__isnull=False, picked_up_at__isnull=True
    )
    fresh = fresh.select_related("delivery").only("delivery__team_id", "delivery__content_hash")
    rows = list(fresh.order_by("pk"))
    Response.objects.filter(pk__in=[row.pk for row in rows]).update(
        sent_at=Coalesce("sent_at", at), picked_up_at=at, picked_up_by=route
    )
    deliveries = [row.delivery for row in rows]
    record_many(EVENT, by=SYSTEM, of=deliveries, at=at, route=route, **detail)
    return len(rows)
