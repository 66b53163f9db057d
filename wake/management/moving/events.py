"""Copies the audit events of a team.

The events of this server and their entries in its log stay where they are. The other server stores
copies, which say where they come from, and adds them to its own log like all events. An event that
comes back to its own server is there already, and is not stored again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from accounts.audit import COPIED_FROM
from accounts.models import AuditEvent
from wake.management.moving.ledger import Line
from wake.management.moving.notes import Translate
from wake.management.moving.references import PERSON
from wake.management.moving.tables import OBJECTS_OF_EVENTS

AT_ONCE = 1_000
COLUMNS = (
    *("id", "at", "event", "actor_kind", "actor_id", "actor_name", "object_kind", "object_id"),
    *("object_name", "address", "detail"),
)
# The columns that a copy has unchanged.
SAME = ("at", "event", "actor_kind", "actor_name", "object_kind", "object_name", "address")
# Members of details that name a person or a membership by number.
NUMBERS = {"person": PERSON, "former_membership": "accounts.Membership"}
LABELS = {label.partition(".")[2].lower(): label for label in OBJECTS_OF_EVENTS}

Event = dict[str, Any]


def read(team_id: int) -> Iterator[list[Event]]:
    """Yields the events in the order of their ids."""
    last = 0
    while True:
        events = AuditEvent.objects.filter(team_id=team_id, pk__gt=last).order_by("pk")
        batch = list(events.values(*COLUMNS)[:AT_ONCE])
        if not batch:
            return
        last = batch[-1]["id"]
        yield batch


def store(
    events: Sequence[Event],
    line: Line,
    *,
    team_id: int,
    source: str,
    own: str,
    translate: Translate,
) -> None:
    """Stores copies of the events of the server `source`, except those that were copied from this
    server, `own`, and are here. Reads all of them again, and counts them in the ledger."""
    origins = [_origin(event, source) for event in events]
    returned = [origin["event"] for origin in origins if origin["server"] == own]
    here = AuditEvent.objects.in_bulk(returned) if returned else {}
    numbers: list[int] = []
    copies: list[AuditEvent] = []
    for event, origin in zip(events, origins, strict=True):
        original = here.get(origin["event"]) if origin["server"] == own else None
        if original is not None and original.team_id == team_id:
            numbers.append(original.pk)
        else:
            copies.append(_copy(event, origin, team_id=team_id, translate=translate))
            numbers.append(0)
    stored = iter(AuditEvent.objects.bulk_create(copies))
    numbers = [number or next(stored).pk for number in numbers]
    found = {row["id"]: row for row in AuditEvent.objects.filter(pk__in=numbers).values(*COLUMNS)}
    add(line, [found[number] for number in numbers])


def add(line: Line, events: Sequence[Event]) -> None:
    """Counts the events in the ledger."""
    for event in events:
        line.add({name: event[name] for name in SAME})


def _copy(
    event: Event, origin: dict[str, Any], *, team_id: int, translate: Translate
) -> AuditEvent:
    facts = {name: event[name] for name in SAME}
    detail = {**event["detail"], COPIED_FROM: origin}
    for name, label in NUMBERS.items():
        if isinstance(detail.get(name), int):
            detail[name] = translate(label, detail[name])
    return AuditEvent(
        team_id=team_id,
        actor_id=_translated(event["actor_id"], _label_of_actor(event), translate),
        object_id=_translated(event["object_id"], LABELS.get(event["object_kind"], ""), translate),
        detail=detail,
        **facts,
    )


def _label_of_actor(event: Event) -> str:
    return PERSON if event["actor_kind"] == "person" else ""


def _translated(id: str, label: str, translate: Translate) -> str:
    return str(translate(label, int(id))) if label and id.isdecimal() else id


def _origin(event: Event, source: str) -> dict[str, Any]:
    """Returns the server on which the event happened, and the number of the event there."""
    origin: dict[str, Any] = event["detail"].get(COPIED_FROM) or {
        "server": source,
        "event": event["id"],
    }
    return origin
