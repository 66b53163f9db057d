"""The audit of a person's teams, newest first, and what of it somebody asked for.

Whatever is asked for, one page looks at no more than LOOK_AT events of each team: where nothing
matches among them it says how far back it looked, and the next page looks further.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, Func, OuterRef, Q, QuerySet, UUIDField
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone

from accounts.models import Agent, AuditEvent, User
from inbox.audit_words import EVENTS
from inbox.ids import uuid_or_none
from inbox.slices import PAGE, Cursor, first_of_each, older_than
from wake.models import Delivery

LOOK_AT = 50_000
EXPORT_AT_ONCE = 1_000
MOST_AGENTS = 500
WITHOUT_ID = {"agent": "Agents", "system": "Wake itself", "operator": "The command line"}


class EventCursor(Cursor):
    """`1763635321000000-4711`: events have numbers."""

    @staticmethod
    def read_key(text: str) -> int:
        return int(text[:18])


@dataclass(frozen=True, slots=True)
class Asked:
    """`actor` is a kind, or `person:12`; `until` is the end of the last day."""

    actor: str = ""
    event: str = ""
    agent_pk: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def narrows(self) -> bool:
        return self.is_picky or self.since is not None or self.until is not None

    @property
    def last_day(self) -> datetime | None:
        return self.until and self.until - timedelta(microseconds=1)

    @property
    def is_picky(self) -> bool:
        """Asks for more than a stretch of time, so that one page may look at many events."""
        return bool(self.actor or self.event or self.agent_pk)

    def stretch(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        if self.since is not None:
            rows = rows.filter(at__gte=self.since)
        if self.until is not None:
            rows = rows.filter(at__lt=self.until)
        return rows

    def pick(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        kind, _, key = self.actor.partition(":")
        if kind:
            rows = rows.filter(actor_kind=kind)
        if key:
            rows = rows.filter(actor_id=key)
        if self.event:
            rows = rows.filter(event=self.event)
        return rows.filter(_about(self.agent_pk)) if self.agent_pk else rows


@dataclass(frozen=True, slots=True)
class Page:
    """`looked_back_to` is set where it ran out of events to look at before it was full."""

    events: list[AuditEvent]
    older: EventCursor | None
    looked_back_to: datetime | None = None


def read(query: Any) -> Asked:
    """Of a page's query; what cannot be read asks for nothing."""
    actor, event = query.get("actor", ""), query.get("event", "")
    kind, _, key = actor.partition(":")
    is_known = actor in WITHOUT_ID or (kind == "person" and key.isascii() and key.isdigit())
    return Asked(
        actor=actor[:64] if is_known else "",
        event=event if event in EVENTS else "",
        agent_pk=uuid_or_none(query.get("agent", "")),
        since=_midnight(query.get("from", "")),
        until=_midnight(query.get("to", ""), days_later=1),
    )


def actors(people: Iterable[User]) -> list[tuple[str, str]]:
    """Whom one can ask for, and how they are called."""
    return [
        *((f"person:{person.pk}", person.display_name) for person in people),
        *WITHOUT_ID.items(),
    ]


def agents(team_ids: Sequence[int]) -> QuerySet[Agent]:
    """About which one can ask."""
    return Agent.objects.filter(team__in=team_ids).order_by("agent_id", "pk")[:MOST_AGENTS]


def page(team_ids: Sequence[int], asked: Asked, *, before: EventCursor | None) -> Page:
    """Two queries at most. Index: audit_of_a_team_by_time."""
    floor = _floor(team_ids, asked, before) if asked.is_picky else None
    found = _newest(team_ids, asked, before=before, floor=floor, count=PAGE + 1)
    shown = found[:PAGE]
    if len(found) > PAGE:
        return Page(shown, _cursor(shown[-1]))
    if floor is None:
        return Page(shown, None)
    return Page(shown, _cursor(floor), looked_back_to=floor.at)


def everything(team_ids: Sequence[int], asked: Asked) -> Iterator[list[AuditEvent]]:
    """All of it, newest first, a handful at a time."""
    before: EventCursor | None = None
    while True:
        floor = _floor(team_ids, asked, before) if asked.is_picky else None
        found = _newest(team_ids, asked, before=before, floor=floor, count=EXPORT_AT_ONCE)
        if found:
            yield found
        if len(found) == EXPORT_AT_ONCE:
            before = _cursor(found[-1])
        elif floor is not None:
            before = _cursor(floor)
        else:
            return


def of_teams(team_ids: Sequence[int]) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(team_id__in=team_ids)


def _newest(
    team_ids: Sequence[int],
    asked: Asked,
    *,
    before: EventCursor | None,
    floor: AuditEvent | None,
    count: int,
) -> list[AuditEvent]:
    lists = [asked.pick(rows) for rows in _stretches(team_ids, asked, before)]
    if floor is not None:
        too_old = {"at": floor.at, "pk__lt": floor.pk}
        lists = [rows.filter(at__gte=floor.at).exclude(**too_old) for rows in lists]
    found = first_of_each(lists, count)
    return sorted(found, key=lambda row: (row.at, row.pk), reverse=True)[:count]


def _floor(team_ids: Sequence[int], asked: Asked, before: EventCursor | None) -> AuditEvent | None:
    """The event at which a page stops looking: the latest of each team's last to look at."""
    stretches = _stretches(team_ids, asked, before)
    last = first_of_each([rows.only("pk", "at")[LOOK_AT : LOOK_AT + 1] for rows in stretches])
    return max(last, key=lambda row: (row.at, row.pk), default=None)


def _stretches(
    team_ids: Sequence[int], asked: Asked, before: EventCursor | None
) -> list[QuerySet[AuditEvent]]:
    return [
        older_than(asked.stretch(AuditEvent.objects.filter(team_id=team_id)), "at", before)
        for team_id in team_ids
    ]


def _cursor(event: AuditEvent) -> EventCursor:
    return EventCursor((event.at, event.pk))


class _DeliveryId(Func):
    """The id of the delivery that an event is about, as the deliveries' own key is stored; other
    things have shorter ids."""

    output_field = UUIDField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "CASE WHEN length(%(expressions)s) = 36 THEN (%(expressions)s)::uuid END"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "REPLACE(%(expressions)s, '-', '')"
        return self.as_sql(compiler, connection, template=template, **context)


def _about(agent_pk: UUID) -> Q:
    """What the agent did, what was done to it, to its keys and to its other ids, and what became of
    its deliveries."""
    theirs = Delivery.objects.filter(pk=_DeliveryId(OuterRef("object_id")), agent=agent_pk)
    itself = Q(actor_id=str(agent_pk)) | Q(object_id=str(agent_pk))
    return itself | Q(Exists(theirs), object_kind="delivery") | _held_by(agent_pk)


def _held_by(agent_pk: UUID) -> Q:
    """Keys and other ids, by the name that their events keep: an id that was taken away has no row
    any more."""
    name = KeyTextTransform("agent", OuterRef("detail"))
    holder = Agent.objects.filter(pk=agent_pk, team=OuterRef("team_id"), agent_id=name)
    return Q(Exists(holder), object_kind__in=["apikey", "claimedid"])


def _midnight(text: str, *, days_later: int = 0) -> datetime | None:
    """Where the person is (the middleware has set their time zone); None for what is no day."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    if not date(1971, 1, 1) < day < date(9000, 1, 1):
        return None
    return timezone.make_aware(datetime.combine(day + timedelta(days=days_later), time.min))
