"""Describes the events of a delivery and its callback in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import JSONField, Value

from accounts.models import AuditEvent
from inbox.audit.sentences import full_sentence
from inbox.models import Reading
from pages.times import when
from wake.models import Callback, Delivery, Response
from wake.server.health.views import OVERDUE_AFTER

MAX_EVENTS = 200
# An opening is not an audit event, because it only concerns the inbox.
OPENED = "delivery.opened"
RECEIVED = "delivery.received"
RUNNING_LATE = "not sent yet, because callbacks are delayed. The agent can still fetch this answer."


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    at: datetime
    text: str


def timeline_of(delivery: Delivery) -> list[TimelineEvent]:
    """Returns the newest MAX_EVENTS, oldest first, and who opened the delivery. Makes one query.
    Index: audit_of_an_object."""
    audited = AuditEvent.objects.filter(object_id=str(delivery.pk)).values_list(
        "at", "pk", "event", "actor_name", "detail"
    )
    opened = Reading.objects.filter(delivery=delivery).values_list(
        "opened_at", "pk", Value(OPENED), "user__display_name", Value({}, output_field=JSONField())
    )
    events = audited.order_by().union(opened.order_by(), all=True)
    newest = list(events.order_by("-at", "-pk")[:MAX_EVENTS])
    return [TimelineEvent(at, _sentence(*event)) for at, _, *event in reversed(newest)]


def callback_line(callback: Callback, *, at: datetime) -> str:
    """Returns one line about the callback. The attempts are in a separate table."""
    state = callback_state(callback, at=at, otherwise="The agent can still fetch this answer.")
    return f"Callback to {callback.host}: {state}"


def callback_state(callback: Callback, *, at: datetime, otherwise: str, reason: str = "") -> str:
    """Returns the state of a callback. `otherwise` says what the receiver can do after the last
    attempt, and `reason` why the newest attempt failed."""
    why = f" ({reason})" if reason else ""
    if callback.delivered_at is not None:
        return f"delivered {when(callback.delivered_at, now=at)}."
    if callback.given_up_at is not None:
        given_up = when(callback.given_up_at, now=at)
        return f"failed {given_up} after {callback.tries} attempts{why}. {otherwise}"
    if callback.due_at is None:
        return f"suspended until someone resumes it{why}."
    if _is_delayed(callback, at=at):
        return RUNNING_LATE
    if callback.tries == 0 or callback.due_at <= at:
        return "sending."
    next_at = when(callback.due_at, now=at)
    return f"attempt {callback.tries} failed{why}; the next one is {next_at}."


def delay_warning(response: Response, *, webhook: str, at: datetime) -> str:
    """Returns a warning if the answer or its callback should have been sent long ago; otherwise an
    empty text."""
    callback: Callback | None = getattr(response, "callback", None)
    if callback is not None:
        return (
            f"Callback to {callback.host}: {RUNNING_LATE}" if _is_delayed(callback, at=at) else ""
        )
    is_held = response.responded_at is None and bool(webhook)
    return f"Callback: {RUNNING_LATE}" if is_held and _is_late(response.release_at, at=at) else ""


def _is_delayed(callback: Callback, *, at: datetime) -> bool:
    is_sending = callback.leased_until is not None and callback.leased_until > at
    return callback.due_at is not None and not is_sending and _is_late(callback.due_at, at=at)


def _is_late(due_at: datetime, *, at: datetime) -> bool:
    """Returns whether the due time is so long ago that every sweep since must have failed. /readyz
    uses the same limit."""
    return at - due_at > OVERDUE_AFTER


def _sentence(event: str, actor: str, detail: dict[str, Any]) -> str:
    if event == OPENED:
        return f"{actor} opened it"
    if event == RECEIVED:
        key = f" with key {detail['key']}" if detail.get("key") else ""
        return f"Received from {actor}{key}"
    return full_sentence(AuditEvent(event=event, actor_name=actor, detail=detail))
