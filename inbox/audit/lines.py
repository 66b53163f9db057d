"""Builds the lines of the audit page from events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from accounts.models import AuditEvent
from inbox.audit.sentences import kind, link, sentence, short
from inbox.pages.viewer import Viewer
from wake.models import Delivery


@dataclass(frozen=True, slots=True)
class Line:
    """Shows one event on the page; `url` and `address` are empty if there is none."""

    event: AuditEvent
    name: str
    sentence: str
    kind: str
    key: str
    url: str
    address: str
    team: str


def lines_of(events: Iterable[AuditEvent], viewer: Viewer) -> list[Line]:
    """Adds the headlines of deliveries, which the audit itself does not store; one query."""
    events = list(events)
    ids = {UUID(event.object_id) for event in events if event.object_kind == "delivery"}
    own_deliveries = Delivery.objects.for_person(viewer.user).filter(pk__in=ids)
    names = {str(pk): headline for pk, headline in own_deliveries.values_list("pk", "headline")}
    return [_line(event, names.get(event.object_id, _name(event)), viewer) for event in events]


def _name(event: AuditEvent) -> str:
    """Returns the name of the object. The audit stores no name of what may be erased; an A2A push
    is named by its host."""
    if event.object_kind == "callback":
        return f"A2A push to {event.detail.get('host', '')}"
    if event.object_kind == "task":
        return f"Task {event.object_id[:8]}"
    return event.object_name


def _line(event: AuditEvent, name: str, viewer: Viewer) -> Line:
    return Line(
        event=event,
        name=name,
        sentence=sentence(event),
        kind=kind(event),
        key=str(event.detail.get("key", "")) if event.actor_kind == "agent" else "",
        url=link(event),
        address=short(event.address),
        team=viewer.team_label(event.team_id or 0),
    )
