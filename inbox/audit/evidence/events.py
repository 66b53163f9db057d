"""Writes the audit events of an export, without network addresses. The events are about the
deliveries, and about the rules that answered or assigned the deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from accounts.models import AuditEvent, User
from accounts.people.data.removal import known_as_number
from inbox.audit.log_places import places
from inbox.audit.sentences import full_sentence
from wake import wire

COLUMNS = [
    *("id", "at", "event", "words", "actor_kind", "actor_id", "actor_name"),
    *("object_kind", "object_id", "detail", "position", "hash", "log_index"),
]


def events_of(team_id: int, kind: Sequence[str], ids: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yields a row for each event of these objects, oldest first for each object. Makes four
    queries. Index: audit_of_an_object."""
    found = AuditEvent.objects.filter(
        team_id=team_id, object_kind__in=kind, object_id__in=[str(pk) for pk in ids]
    )
    events = list(found.order_by("object_id", "id"))
    found_places = places([event.pk for event in events])
    people = {event.actor_id for event in events if event.actor_kind == "person"}
    known = set(User.objects.filter(pk__in=people).values_list("pk", flat=True))
    for event in events:
        if event.actor_kind == "person" and int(event.actor_id) not in known:
            event.actor_name = known_as_number(int(event.actor_id))
        place = found_places.get(event.pk)
        derived = {
            "at": wire.instant(event.at),
            "words": full_sentence(event),
            "position": place.number if place else "",
            "hash": place.hash if place else "",
            "log_index": place.index if place and place.index is not None else "",
        }
        yield {name: derived[name] if name in derived else getattr(event, name) for name in COLUMNS}
