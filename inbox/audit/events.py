"""Lists the audit events of a person's teams, newest first, and filters them.

One page scans at most MAX_SCANNED events of each team. If none of these events matches the filter,
the page says how far back it looked, and the next page continues there.
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

from accounts.audit.sentences import EVENTS
from accounts.models import Agent, AuditEvent, User
from database.batched_queries import PAGE, Cursor, first_of_each, older_than
from database.postgresql.replica import Read
from database.uuids import uuid_or_none
from wake.models import Delivery

MAX_SCANNED = 50_000
EXPORT_AT_ONCE = 1_000
MAX_AGENTS = 500
WITHOUT_ID = {"agent": "Agents", "system": "Wake", "operator": "CLI"}


class EventCursor(Cursor):
    """Marks where a page ended, as `1763635321000000-4711`. The last part is the key of an
    event."""

    @staticmethod
    def read_key(text: str) -> int:
        return int(text[:18])


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Filters events: `actor` is a kind, or `person:12`; `until` is the end of the last day."""

    actor: str = ""
    event: str = ""
    agent_pk: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def narrows(self) -> bool:
        return self.needs_scan or self.since is not None or self.until is not None

    @property
    def last_day(self) -> datetime | None:
        return self.until and self.until - timedelta(microseconds=1)

    @property
    def needs_scan(self) -> bool:
        """Returns whether the filter has anything besides times. With such a filter, one page may
        have to scan many events."""
        return bool(self.actor or self.event or self.agent_pk)

    def in_period(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        if self.since is not None:
            rows = rows.filter(at__gte=self.since)
        if self.until is not None:
            rows = rows.filter(at__lt=self.until)
        return rows

    def matching(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        kind, _, key = self.actor.partition(":")
        if kind:
            rows = rows.filter(actor_kind=kind)
        if key:
            rows = rows.filter(actor_id=key)
        if self.event:
            rows = rows.filter(event=self.event)
        return rows.filter(_about(self.agent_pk)) if self.agent_pk else rows


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Holds one page of events. `looked_back_to` is set if the scan limit was reached before the
    page was full."""

    events: list[AuditEvent]
    older: EventCursor | None
    looked_back_to: datetime | None = None


def read(query: Any) -> EventFilter:
    """Reads the filter from a page's query; ignores invalid values."""
    actor, event = query.get("actor", ""), query.get("event", "")
    kind, _, key = actor.partition(":")
    is_known = actor in WITHOUT_ID or (kind == "person" and key.isascii() and key.isdigit())
    return EventFilter(
        actor=actor[:64] if is_known else "",
        event=event if event in EVENTS else "",
        agent_pk=uuid_or_none(query.get("agent", "")),
        since=_midnight(query.get("from", "")),
        until=_midnight(query.get("to", ""), days_later=1),
    )


def actors(people: Iterable[User]) -> list[tuple[str, str]]:
    """Returns the choices of the actor filter with their names."""
    return [
        *((f"person:{person.pk}", person.display_name) for person in people),
        *WITHOUT_ID.items(),
    ]


def agents(team_ids: Sequence[int]) -> QuerySet[Agent]:
    """Returns the choices of the agent filter."""
    return Agent.objects.filter(team__in=team_ids).order_by("agent_id", "pk")[:MAX_AGENTS]


def page(team_ids: Sequence[int], filters: EventFilter, *, before: EventCursor | None) -> AuditPage:
    """Returns one page, with at most two queries. Index: audit_of_a_team_by_time."""
    floor = _floor(team_ids, filters, before) if filters.needs_scan else None
    events = _newest(team_ids, filters, before=before, floor=floor, count=PAGE + 1)
    on_page = events[:PAGE]
    if len(events) > PAGE:
        return AuditPage(on_page, _cursor(on_page[-1]))
    if floor is None:
        return AuditPage(on_page, None)
    return AuditPage(on_page, _cursor(floor), looked_back_to=floor.at)


def all_events(
    team_ids: Sequence[int], filters: EventFilter, *, read: Read
) -> Iterator[list[AuditEvent]]:
    """Yields all matching events, newest first, in chunks."""
    before: EventCursor | None = None
    while True:
        floor, events = read(lambda: _chunk(team_ids, filters, before))  # noqa: B023 - runs now
        if events:
            yield events
        if len(events) == EXPORT_AT_ONCE:
            before = _cursor(events[-1])
        elif floor is not None:
            before = _cursor(floor)
        else:
            return


def _chunk(
    team_ids: Sequence[int], filters: EventFilter, before: EventCursor | None
) -> tuple[AuditEvent | None, list[AuditEvent]]:
    floor = _floor(team_ids, filters, before) if filters.needs_scan else None
    return floor, _newest(team_ids, filters, before=before, floor=floor, count=EXPORT_AT_ONCE)


def of_teams(team_ids: Sequence[int]) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(team_id__in=team_ids)


def _newest(
    team_ids: Sequence[int],
    filters: EventFilter,
    *,
    before: EventCursor | None,
    floor: AuditEvent | None,
    count: int,
) -> list[AuditEvent]:
    lists = [filters.matching(rows) for rows in _lists(team_ids, filters, before)]
    if floor is not None:
        below_floor = {"at": floor.at, "pk__lt": floor.pk}
        lists = [rows.filter(at__gte=floor.at).exclude(**below_floor) for rows in lists]
    events = first_of_each(lists, count)
    return sorted(events, key=lambda row: (row.at, row.pk), reverse=True)[:count]


def _floor(
    team_ids: Sequence[int], filters: EventFilter, before: EventCursor | None
) -> AuditEvent | None:
    """Returns the event at which a page stops. For each team, there is an oldest event that a page
    may scan. Returns the latest of these events."""
    lists = _lists(team_ids, filters, before)
    last = first_of_each([rows.only("pk", "at")[MAX_SCANNED : MAX_SCANNED + 1] for rows in lists])
    return max(last, key=lambda row: (row.at, row.pk), default=None)


def _lists(
    team_ids: Sequence[int], filters: EventFilter, before: EventCursor | None
) -> list[QuerySet[AuditEvent]]:
    return [
        older_than(filters.in_period(AuditEvent.objects.filter(team_id=team_id)), "at", before)
        for team_id in team_ids
    ]


def _cursor(event: AuditEvent) -> EventCursor:
    return EventCursor((event.at, event.pk))


class _DeliveryId(Func):
    """Converts the object id of an event about a delivery to the type of a delivery's key. Ids of
    other objects are shorter, and become NULL."""

    output_field = UUIDField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "CASE WHEN length(%(expressions)s) = 36 THEN (%(expressions)s)::uuid END"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "REPLACE(%(expressions)s, '-', '')"
        return self.as_sql(compiler, connection, template=template, **context)


def _about(agent_pk: UUID) -> Q:
    """Filters by the agent's actions, and by events of the agent, its keys, its aliases and its
    deliveries."""
    own_deliveries = Delivery.objects.filter(pk=_DeliveryId(OuterRef("object_id")), agent=agent_pk)
    itself = Q(actor_id=str(agent_pk)) | Q(object_id=str(agent_pk))
    return itself | Q(Exists(own_deliveries), object_kind="delivery") | _held_by(agent_pk)


def _held_by(agent_pk: UUID) -> Q:
    """Filters keys and aliases by the agent's name in their events, because a removed alias has no
    row."""
    name = KeyTextTransform("agent", OuterRef("detail"))
    holder = Agent.objects.filter(pk=agent_pk, team=OuterRef("team_id"), agent_id=name)
    return Q(Exists(holder), object_kind__in=["apikey", "claimedid"])


def _midnight(text: str, *, days_later: int = 0) -> datetime | None:
    """Returns when the day begins in the person's time zone, which the middleware has set. Returns
    None if the text is not a day."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    if not date(1971, 1, 1) < day < date(9000, 1, 1):
        return None
    return timezone.make_aware(datetime.combine(day + timedelta(days=days_later), time.min))
