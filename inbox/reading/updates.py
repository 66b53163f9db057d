"""Finds changes since a page was made: deliveries that arrived, and deliveries that ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.access.viewer import Viewer
from accounts.models import ApiKey, AuditEvent
from database.batched_queries import MICROSECOND, count_each, first_of_each
from database.clock import EPOCH
from inbox.reading.lists import TEAM, TYPE, each_type
from wake.models import Delivery

COUNT_UP_TO = 99
MAX_ENDINGS = 100
ENDINGS = {
    "delivery.answered": "Answered by {name}",
    "delivery.acknowledged": "Acknowledged by {name}",
    "delivery.withdrawn": "Withdrawn by the agent",
}
REOPENINGS = ("response.taken_back", "delivery.brought_back")
MAX_DIGITS = 16  # digits of microseconds since 1970, until the year 2286


def mark(at: datetime) -> str:
    """Returns a time in the form for addresses: microseconds since 1970."""
    return str((at - EPOCH) // MICROSECOND)


def read_mark(text: str) -> datetime | None:
    """Reads a time from `mark`; returns None for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return EPOCH + timedelta(microseconds=int(text)) if is_number else None


def new_since(viewer: Viewer, since: datetime) -> str:
    """Returns `3`, or `99+`, or an empty text if nothing arrived. Makes one query, with a short
    range of waiting_of_a_team for each team and type."""
    rows = Delivery.objects.for_team(TEAM).awaiting_response()
    newer = rows.filter(mode=ApiKey.Mode.LIVE, type=TYPE, created_at__gt=since)
    lists = each_type(newer, Delivery.Type.values, viewer.team_ids)
    count = sum(count_each(lists, at_most=COUNT_UP_TO + 1))
    return _limited(count)


def failed_since(viewer: Viewer, since: datetime) -> str:
    """Returns how many approved actions failed and are in the list, in the form of `new_since`.
    Makes one query. Index: failures_of_a_team."""
    failed = Delivery.objects.failed().with_content().filter(mode=ApiKey.Mode.LIVE)
    newer = failed.filter(
        failure__team__in=viewer.team_ids,
        failure__acknowledged_at__isnull=True,
        failure__failed_at__gt=since,
    )
    return _limited(newer[: COUNT_UP_TO + 1].count())


def _limited(count: int) -> str:
    return f"{COUNT_UP_TO}+" if count > COUNT_UP_TO else str(count or "")


@dataclass(frozen=True, slots=True)
class Ending:
    """Describes a delivery that someone answered or acknowledged, or that its agent withdrew."""

    delivery_id: str
    text: str


def ended_since(viewer: Viewer, since: datetime) -> list[Ending]:
    """Returns the last change of each delivery since `since`. Makes one query of
    audit_of_a_team_by_time."""
    events = first_of_each(
        [
            AuditEvent.objects.filter(
                team_id=team_id, at__gt=since, event__in=[*ENDINGS, *REOPENINGS]
            ).order_by("-at", "-id")
            for team_id in viewer.team_ids
        ],
        count=MAX_ENDINGS,
    )
    newest_last = sorted(events, key=lambda event: (event.at, event.pk))
    last = {event.object_id: event for event in newest_last}
    return [
        Ending(pk, ENDINGS[event.event].format(name=event.actor_name))
        for pk, event in last.items()
        if event.event not in REOPENINGS
    ]


def ending_of(delivery: Delivery, since: datetime) -> str:
    """Returns the event that ended the delivery after `since`, or an empty text if there was none,
    or if it was undone. Makes one query of audit_of_a_team_by_time."""
    if delivery.superseded_at and delivery.superseded_at > since and not delivery.withdrawn_at:
        return "Replaced by a newer version"
    events = AuditEvent.objects.filter(
        team_id=delivery.team_id,
        at__gt=since,
        event__in=[*ENDINGS, *REOPENINGS],
        object_id=str(delivery.pk),
    )
    last = events.order_by("-at", "-id").first()
    is_ended = last is not None and last.event in ENDINGS
    return ENDINGS[last.event].format(name=last.actor_name) if last and is_ended else ""
