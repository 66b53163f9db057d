"""How a delivery got here and what became of it, in plain words, from the audit and callback."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.db.models import JSONField, OuterRef, Subquery, Value

from accounts.models import ApiKey, AuditEvent
from inbox.audit_words import words
from inbox.models import Reading
from inbox.moments import when
from wake.health import OVERDUE_AFTER
from wake.models import Callback, Delivery, DeliveryQuerySet, Response

MOST_EVENTS = 200
# No event of the audit: opening a page is nobody's business but the inbox's.
OPENED = "delivery.opened"
RECEIVED = "delivery.received"
LATE = "not sent yet, callbacks are running late. The agent can fetch this answer by polling."


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    words: str


def story(delivery: Delivery) -> list[Event]:
    """Oldest first, with who opened it, in one query. Index: audit_of_an_object."""
    happened = AuditEvent.objects.filter(object_id=str(delivery.pk)).values_list(
        "at", "event", "actor_name", "detail"
    )
    opened = Reading.objects.filter(delivery=delivery).values_list(
        "opened_at", Value(OPENED), "user__display_name", Value({}, output_field=JSONField())
    )
    rows = happened.order_by().union(opened.order_by(), all=True)[:MOST_EVENTS]
    return sorted((Event(at, _words(*told)) for at, *told in rows), key=attrgetter("at"))


def with_key(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """`key_revoked_at` of the key that a delivery came with."""
    key = ApiKey.objects.filter(agent=OuterRef("agent"), hint=OuterRef("key_hint"))
    return rows.annotate(key_revoked_at=Subquery(key.values("revoked_at")[:1]))


def callback_line(callback: Callback, *, at: datetime) -> str:
    """One quiet line; the attempts have a table of their own."""
    if callback.delivered_at is not None:
        return f"Webhook to {callback.host}: delivered {when(callback.delivered_at, now=at)}."
    if callback.given_up_at is not None:
        return (
            f"Webhook to {callback.host}: given up {when(callback.given_up_at, now=at)} after "
            f"{callback.tries} tries. The agent can still fetch this answer by polling."
        )
    if callback.due_at is None:
        return f"Webhook to {callback.host}: resting until somebody resumes it."
    if _is_late(callback.due_at, at=at) and (
        callback.leased_until is None or callback.leased_until <= at
    ):
        return f"Webhook to {callback.host}: {LATE}"
    if callback.tries == 0 or callback.due_at <= at:
        return f"Webhook to {callback.host}: on its way."
    return (
        f"Webhook to {callback.host}: try {callback.tries} failed; "
        f"the next one is {when(callback.due_at, now=at)}."
    )


def held_line(response: Response, *, webhook: str, at: datetime) -> str:
    """Empty unless nobody has taken up an answer that should long have left."""
    is_held = response.responded_at is None and bool(webhook)
    return f"Webhook: {LATE}" if is_held and _is_late(response.release_at, at=at) else ""


def _is_late(due_at: datetime, *, at: datetime) -> bool:
    """As /readyz counts: by then every sweep has been missed."""
    return at - due_at > OVERDUE_AFTER


def _words(event: str, actor: str, detail: dict[str, Any]) -> str:
    if event == OPENED:
        return f"{actor} opened it"
    if event == RECEIVED:
        key = f" with key {detail['key']}" if detail.get("key") else ""
        return f"Received from {actor}{key}"
    return words(AuditEvent(event=event, actor_name=actor, detail=detail))
