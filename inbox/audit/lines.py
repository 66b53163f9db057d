"""Audit events as lines of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from accounts.models import AuditEvent
from inbox.audit_words import kind, link, short, words
from inbox.viewer import Viewer
from wake.models import Delivery


@dataclass(frozen=True, slots=True)
class Line:
    """`url` and `address` are empty where there is none."""

    event: AuditEvent
    name: str
    words: str
    kind: str
    key: str
    url: str
    address: str
    team: str


def lines_of(events: Iterable[AuditEvent], viewer: Viewer) -> list[Line]:
    """With the headlines of deliveries, which the audit itself does not hold; one query."""
    events = list(events)
    ids = {UUID(event.object_id) for event in events if event.object_kind == "delivery"}
    theirs = Delivery.objects.for_person(viewer.user).filter(pk__in=ids)
    names = {str(pk): headline for pk, headline in theirs.values_list("pk", "headline")}
    return [_line(event, names.get(event.object_id, _name(event)), viewer) for event in events]


def _name(event: AuditEvent) -> str:
    """Of what may be erased the audit holds no name; that of a push is the host it goes to."""
    if event.object_kind == "callback":
        return f"A2A push to {event.detail.get('host', '')}"
    if event.object_kind == "task":
        return f"Task {event.object_id[:8]}"
    return event.object_name


def _line(event: AuditEvent, name: str, viewer: Viewer) -> Line:
    return Line(
        event=event,
        name=name,
        words=words(event),
        kind=kind(event),
        key=str(event.detail.get("key", "")) if event.actor_kind == "agent" else "",
        url=link(event),
        address=short(event.address),
        team=viewer.team_label(event.team_id or 0),
    )
