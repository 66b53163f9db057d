"""Finds what changed after a page was made: deliveries that arrived, and those that ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.access.viewer import Viewer
from accounts.models import ApiKey, AuditEvent
from database.batched_queries import MICROSECOND, count_each, first_of_each
from database.clock import EPOCH
from inbox.list.lists import TEAM, TYPE, each_type
from wake.models import Delivery

COUNT_UP_TO = 99
MOST_ENDINGS = 100
ENDINGS = {
    "delivery.answered": "Answered by {name}",
    "delivery.acknowledged": "Acknowledged by {name}",
    "delivery.withdrawn": "Withdrawn by the agent",
}
REOPENINGS = ("response.taken_back", "delivery.brought_back")
MOST_DIGITS = 16  # digits of microseconds since 1970, until the year 2286


def mark(at: datetime) -> str:
    """Returns an instant as an address carries it: microseconds since 1970."""
    return str((at - EPOCH) // MICROSECOND)


def read_mark(text: str) -> datetime | None:
    """Returns the instant of a `mark`, or None for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return EPOCH + timedelta(microseconds=int(text)) if is_number else None


def new_since(viewer: Viewer, since: datetime) -> str:
    """Returns `3`, or `99+`; empty if nothing arrived. One query, with a short range of
    inbox_of_a_team for each team and type."""
    rows = Delivery.objects.for_team(TEAM).awaiting_response()
    newer = rows.filter(mode=ApiKey.Mode.LIVE, type=TYPE, created_at__gt=since)
    lists = each_type(newer, Delivery.Type.values, viewer.team_ids)
    count = sum(count_each(lists, at_most=COUNT_UP_TO + 1))
    return f"{COUNT_UP_TO}+" if count > COUNT_UP_TO else str(count or "")


@dataclass(frozen=True, slots=True)
class Ending:
    """Describes a delivery that someone answered or acknowledged, or that its agent withdrew."""

    delivery_id: str
    text: str


def ended_since(viewer: Viewer, since: datetime) -> list[Ending]:
    """Returns the last change of each delivery since then. One query of audit_of_a_team_by_time."""
    events = first_of_each(
        [
            AuditEvent.objects.filter(
                team_id=team_id, at__gt=since, event__in=[*ENDINGS, *REOPENINGS]
            ).order_by("-at", "-id")
            for team_id in viewer.team_ids
        ],
        count=MOST_ENDINGS,
    )
    newest_last = sorted(events, key=lambda event: (event.at, event.pk))
    last = {event.object_id: event for event in newest_last}
    return [
        Ending(pk, ENDINGS[event.event].format(name=event.actor_name))
        for pk, event in last.items()
        if event.event not in REOPENINGS
    ]


def ending_of(delivery: Delivery, since: datetime) -> str:
    """Returns what ended the delivery since then; empty if nothing did, or if it was undone. One
    query of audit_of_a_team_by_time."""
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
