"""Marks answers as picked up by their agent, and records it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models.functions import Coalesce

from accounts.audit import SYSTEM, event_of
from accounts.models import AuditEvent
from database.compiled_queries import list_parameter, parameter
from database.write_chains import Chain, Change, Given, GivenMember, GivenText, Lock, New
from wake.models.deliveries import Delivery
from wake.models.responses import Response

EVENT = "response.picked_up"
ANY_DELIVERY = Delivery()


def mark_picked_up(response_ids: Sequence[UUID], *, route: str, at: datetime, **detail: Any) -> int:
    """Marks the released answers among `response_ids` that were not picked up before, and returns
    how many. From now on none of them can be taken back. Call it in a transaction. The answers are
    locked in the order of their ids, and each has its audit event."""
    detail = {"route": route, **detail}
    event = event_of(EVENT, by=SYSTEM, of=ANY_DELIVERY, team_id=None, at=at, detail=detail)
    return _picking_up().store(event, ids=response_ids, route=route, at=at).number


@cache
def _picking_up() -> Chain:
    fresh = Lock(
        "fresh",
        Response.objects.filter(
            pk__one_of=list_parameter("ids", Response, "id"),
            responded_at__isnull=False,
            picked_up_at__isnull=True,
        ).order_by("pk"),
        returns=["delivery_id", "delivery__team_id", "delivery__content_hash"],
        any_number=True,
    )
    at = parameter("at", Response, "picked_up_at")
    picked_up = Change(
        "picked_up",
        fresh,
        sent_at=Coalesce("sent_at", at),
        picked_up_at=at,
        picked_up_by=parameter("route", Response, "picked_up_by"),
    )
    event = New(
        "event",
        AuditEvent,
        for_each=fresh,
        team_id=Given("fresh", "delivery__team_id"),
        object_id=GivenText("fresh", "delivery_id"),
        detail=GivenMember("fresh", "delivery__content_hash", "content_hash"),
    )
    return Chain(fresh, picked_up, event)
