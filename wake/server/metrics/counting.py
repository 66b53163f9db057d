"""Counts deliveries and responses from the events of the audit.

Every delivery and every pick-up of an answer writes an event. So counting them afterwards adds
nothing to a request, the counts survive restarts, and every process shows the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.audit import COPIED_FROM
from accounts.models import AuditCheckpoint, AuditEvent
from wake.models import EventCounts, Response
from wake.models.picking_up import EVENT as PICKED_UP

RECEIVED = "delivery.received"
AT_ONCE = 1_000
DRAIN_SECONDS = 20.0
PERSON, PEOPLE, RULE = "person", "people", "rule"


def count_new(*, seconds: float = DRAIN_SECONDS, at_once: int = AT_ONCE) -> int:
    """Counts the events since the last call, `at_once` in each transaction, for at most `seconds`.
    Returns how many. Returns 0 while another process counts."""
    counted, stop_at = 0, time.monotonic() + seconds
    while time.monotonic() < stop_at:
        number = _count_next(at_once)
        counted += number
        if number < at_once:
            break
    return counted


def passed_checkpoint(at: datetime) -> QuerySet[AuditCheckpoint]:
    """Returns the checkpoint of the log if events before it are not counted yet."""
    counted = Coalesce(Subquery(EventCounts.objects.values("event_id")[:1]), 0)
    return AuditCheckpoint.objects.filter(event_id__gt=counted)


@transaction.atomic
def _count_next(at_once: int) -> int:
    """Counts up to the checkpoint of the log: events with lower numbers are all committed, so none
    is missed (accounts/log/sweep.py). If the row is lost, the counters begin again there."""
    decided = AuditCheckpoint.objects.values_list("event_id", flat=True).first() or 0
    EventCounts.objects.get_or_create(pk=1, defaults={"event_id": decided})
    counts = EventCounts.objects.select_for_update(skip_locked=True).first()
    if counts is None:
        return 0
    new = AuditEvent.objects.filter(pk__gt=counts.event_id, pk__lte=decided)
    rows = new.filter(event__in=[RECEIVED, PICKED_UP]).order_by("pk")
    read = list(rows.values_list("pk", "event", "object_id", "detail")[:at_once])
    # The server from which a team moved has counted its events.
    events = [event for event in read if COPIED_FROM not in event[-1]]
    deliveries, responses = Counter(counts.deliveries), Counter(counts.responses)
    picked_up = [UUID(object_id) for _, event, object_id, _ in events if event == PICKED_UP]
    decisions = _decisions(picked_up)
    for _, event, object_id, detail in events:
        if event == RECEIVED:
            deliveries[detail["type"]] += 1
        elif decision := decisions.get(UUID(object_id)):
            status, decided_by = decision
            responses[f"{status} {detail['route']} {decided_by}"] += 1
    counts.deliveries, counts.responses = dict(deliveries), dict(responses)
    counts.event_id = read[-1][0] if len(read) == at_once else max(decided, counts.event_id)
    counts.save(update_fields=["deliveries", "responses", "event_id"])
    return len(read)


def _decisions(delivery_ids: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
    """Returns the status of each delivery's response, and who decided it."""
    columns = ("delivery_id", "status", "rule_version_id", "quorum_json")
    responses = Response.objects.filter(delivery__in=delivery_ids).only(*columns)
    return {
        response.delivery_id: (response.status, _decided_by(response)) for response in responses
    }


def _decided_by(response: Response) -> str:
    if response.rule_version_id is not None:
        return RULE
    return PEOPLE if response.is_of_votes else PERSON
