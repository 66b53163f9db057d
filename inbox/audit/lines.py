"""Builds the lines of the audit page from events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from accounts.access.viewer import Viewer
from accounts.audit.sentences import sentence
from accounts.models import AuditEvent
from inbox.audit.sentences import where
from wake.models import Delivery

KINDS = {
    "person": "person",
    "agent": "agent",
    "caller": "A2A caller",
    "rule": "rule",
    "system": "Wake",
    "operator": "CLI",
    "provider": "sign-in provider",
}


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Shows one event on the page. `url` or `address` is empty if the event has none."""

    event: AuditEvent
    name: str
    sentence: str
    where: str
    kind: str
    key: str
    url: str
    address: str
    team: str


def lines_of(events: Iterable[AuditEvent], viewer: Viewer) -> list[AuditLine]:
    """Adds the headlines of deliveries, because the audit does not store headlines. Makes one
    query."""
    events = list(events)
    ids = {UUID(event.object_id) for event in events if event.object_kind == "delivery"}
    own_deliveries = Delivery.objects.for_person(viewer.user).filter(pk__in=ids)
    names = {str(pk): headline for pk, headline in own_deliveries.values_list("pk", "headline")}
    return [_line(event, names.get(event.object_id, _name(event)), viewer) for event in events]


def _name(event: AuditEvent) -> str:
    """Returns the name of the object. The audit stores no names that may be erased. For an A2A
    push, returns the name of its host."""
    if event.object_kind == "callback":
        return f"A2A push to {event.detail.get('host', '')}"
    if event.object_kind == "task":
        return f"Task {event.object_id[:8]}"
    return event.object_name


def _line(event: AuditEvent, name: str, viewer: Viewer) -> AuditLine:
    return AuditLine(
        event=event,
        name=name,
        sentence=sentence(event),
        where=where(event),
        kind=KINDS.get(event.actor_kind, ""),
        key=str(event.detail.get("key", "")) if event.actor_kind == "agent" else "",
        url=link(event),
        address=_short(event.address),
        team=viewer.team_label(event.team_id or 0),
    )


def link(event: AuditEvent) -> str:
    """Returns the address of the page about the event's object, or an empty text if there is
    none."""
    match event.object_kind:
        case "delivery" | "agent" | "callback" | "task" | "card":
            name = "agent" if event.object_kind == "card" else event.object_kind
            try:
                return reverse(name, args=[UUID(event.object_id)])
            except ValueError:
                return ""
        case "callbackhost":
            return reverse("settings-allowlist")
        case "clientpolicy":
            return reverse("settings-clients")
        case "gate":
            return reverse("settings-gates")
        case "channel":
            return reverse("settings-notifications")
        case "rule" | "answeringrule":
            return reverse("settings-rules")
        case "membership" | "invitation":
            return reverse("settings-members")
        case "failingtarget":
            return reverse("callbacks")
    return ""


def _short(address: str) -> str:
    """Shortens an IPv6 address to its two ends."""
    groups = address.split(":")
    if len(groups) <= 4:
        return address
    return f"{groups[0]}:{groups[1]}:…:{groups[-1]}"
