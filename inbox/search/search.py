"""Finds what a query asks for, newest first, among what a person may see.

Every list is read in the order of an index of its own and stops when a page is full. Words have
shelves for that on PostgreSQL (inbox/shelves.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import reduce
from operator import or_
from typing import Self
from uuid import UUID

from django.db import connection
from django.db.models import Exists, F, Max, OuterRef, Q
from django.utils import timezone

from accounts.models import Agent, ApiKey, ClaimedId, User
from inbox import shelves
from inbox.matching import Sought
from inbox.models import Snooze
from inbox.outcomes import Outcome
from inbox.query_language import Query
from inbox.slices import PAGE, Cursor, first_of_each, older_than
from inbox.viewer import Viewer
from inbox.windows import SOON
from wake.models import Delivery, DeliveryQuerySet, Response

ME = "me"
# So many agents or people have lists of their own; more of them are a condition on one list.
LISTED = 10
WAITING = {Outcome.PENDING, Outcome.EXPIRED}
Only = Callable[[DeliveryQuerySet], DeliveryQuerySet]


@dataclass(frozen=True, slots=True)
class Sender:
    """An agent that a name means; with `claimed` only what it delivered under such a name."""

    pk: UUID
    claimed: str = ""

    @property
    def is_meant(self) -> Q:
        return Q(claimed_agent_id__istartswith=self.claimed) if self.claimed else Q()


@dataclass(frozen=True, slots=True)
class Search:
    """A query, what its words mean, and whom its names; None where it names nobody."""

    viewer: Viewer
    query: Query
    sought: Sought
    senders: list[Sender] | None
    people: list[int] | None

    @classmethod
    def of(cls, viewer: Viewer, query: Query) -> Self:
        """A database query for each kind of name, and one or two for words. A single word that is
        the id of an agent means that agent. `viewer` is then in the one team that is asked for."""
        viewer, query = _of_a_team(viewer, query)
        query = _of_an_agent(viewer, query)
        senders = _senders(viewer, query.agent) if query.agent else None
        people = _people(viewer, query.by) if query.by else None
        sought = Sought.of(query.terms)
        query = replace(query, notes=(*query.notes, *sought.notes))
        return cls(viewer, query, sought, senders, people)

    def narrowed(self, rows: DeliveryQuerySet, *, at: datetime) -> DeliveryQuerySet:
        """Those of any list that the query asks for; for the inbox, which is short."""
        if self.means_nobody:
            return rows.none()
        rows = self._of_people(self._of_senders(rows.filter(lane=self._lane)))
        return self.sought.narrow(self._narrowed(rows, at=at))

    def newest(
        self, only: Only, *, at: datetime, before: Cursor | None = None
    ) -> tuple[list[Delivery], Cursor | None]:
        """A page and where the next one begins; `only` says which rows, and which columns."""
        if self.means_nobody:
            return [], None
        if self._is_on_shelves:
            found = self._from_shelves(only, at=at, before=before)
        else:
            found = first_of_each(
                [
                    older_than(self.sought.narrow(rows), self._order, before)
                    for rows in self._lists(only, at=at)
                ]
            )
        found.sort(key=self._place, reverse=True)
        older = Cursor(self._place(found[PAGE - 1])) if len(found) > PAGE else None
        return found[:PAGE], older

    @property
    def means_nobody(self) -> bool:
        return [] in (self.senders, self.people, self.viewer.team_ids)

    @property
    def _lane(self) -> str:
        return ApiKey.Lane.TEST if self.query.is_test else ApiKey.Lane.LIVE

    @property
    def _is_on_shelves(self) -> bool:
        return connection.vendor == "postgresql" and bool(self.sought.wanted)

    @property
    def _order(self) -> str:
        """What a person answered is in the order of the answers, because that has an index; and so
        has what waits, which nothing happened to since it came."""
        if self._is_on_shelves:
            return "activity_at"
        if self.people is not None:
            return "response__answered_at"
        return "created_at" if self.query.status in WAITING else "activity_at"

    def _place(self, row: Delivery) -> tuple[datetime, UUID]:
        return getattr(row, self._order.removeprefix("response__")), row.pk

    def _lists(self, only: Only, *, at: datetime) -> list[DeliveryQuerySet]:
        rows = self._narrowed(only(Delivery.objects.filter(lane=self._lane)), at=at)
        if self.people is not None:  # answers_of_a_person
            mine = self._of_senders(rows.filter(team__in=self.viewer.team_ids))
            return [mine.filter(response__by=person) for person in self.people]
        if self.senders is not None and len(self.senders) <= LISTED:  # cursor_of_an_agent
            return [rows.filter(sender.is_meant, agent=sender.pk) for sender in self.senders]
        # history_of_a_lane
        return [self._of_senders(rows.for_team(team_id)) for team_id in self.viewer.team_ids]

    def _from_shelves(self, only: Only, *, at: datetime, before: Cursor | None) -> list[Delivery]:
        rows = Delivery.objects.filter(team__in=self.viewer.team_ids, lane=self._lane)
        rows = self._narrowed(only(self._of_people(self._of_senders(rows))), at=at)
        owners = [shelves.of_team(team_id) for team_id in self.viewer.team_ids]
        if self.senders is not None and len(self.senders) <= LISTED:
            owners = [shelves.of_agent(sender.pk) for sender in self.senders]
        newest, oldest = self._span(at=at, before=before)
        return shelves.newest(
            older_than(rows, "activity_at", before),
            match=self.sought.match,
            names=shelves.names(owners, self._lane, newest=newest, oldest=oldest),
            count=PAGE + 1,
        )

    def _span(self, *, at: datetime, before: Cursor | None) -> tuple[datetime, datetime]:
        """Between which instants there can be a delivery that the query means."""
        ends = [at, before[0] if before else at]
        first = min(mine.team.created_at for mine in self.viewer.memberships.values())
        begins = [first - shelves.ONE_DAY]  # another machine's clock may have been behind
        if self.people is not None:
            answers = Response.objects.filter(by__in=self.people)
            last = answers.aggregate(last=Max("answered_at"))["last"]
            ends.append(last + shelves.ONE_DAY if last else begins[0])
        if self.query.before:
            ends.append(_midnight(self.query.before))
        if self.query.after:
            begins.append(_midnight(self.query.after))
        return min(ends), max(begins)

    def _narrowed(self, rows: DeliveryQuerySet, *, at: datetime) -> DeliveryQuerySet:
        """By everything but lane, names and words."""
        query = self.query
        if query.type:
            rows = rows.filter(type=query.type)
        if query.status:
            rows = _ended(rows, query.status, at=at)
        if query.thread:  # thread_of_an_agent holds no empty one
            rows = rows.filter(thread=query.thread).exclude(thread="")
        if query.after:
            rows = rows.filter(activity_at__gte=_midnight(query.after))
        if query.before:
            rows = rows.filter(activity_at__lt=_midnight(query.before))
        for kind in sorted(query.kinds - {"test"}):
            rows = self._of_kind(rows, kind, at=at)
        return rows

    def _of_kind(self, rows: DeliveryQuerySet, kind: str, *, at: datetime) -> DeliveryQuerySet:
        match kind:
            case "expired":  # windows_of_a_team
                unanswered_in_time = Q(answered_at__isnull=True) | Q(
                    answered_at__gt=F("expires_at")
                )
                return rows.filter(unanswered_in_time, expires_at__lte=at)
            case "late":
                return rows.filter(answered_at__gt=F("expires_at"))
            case "held":  # held_responses
                return rows.filter(pk__in=Response.objects.held().values("delivery"))
            case "later":  # snoozed_now
                mine = Snooze.objects.of(self.viewer.user, at=at)
                return rows.filter(pk__in=mine.delivery_ids())
            case _:
                return rows.filter(expires_at__gt=at, expires_at__lte=at + SOON)

    def _of_senders(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        if self.senders is None:
            return rows
        own = Q(agent__in=[sender.pk for sender in self.senders if not sender.claimed])
        claimed = [Q(sender.is_meant, agent=sender.pk) for sender in self.senders if sender.claimed]
        return rows.filter(reduce(or_, claimed, own))

    def _of_people(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        return rows if self.people is None else rows.filter(response__by__in=self.people)


def _of_a_team(viewer: Viewer, query: Query) -> tuple[Viewer, Query]:
    within = viewer.within(query.team) if query.team else viewer
    if within is not None:
        return within, query
    note = f"“team:{query.team}” was left out: none of your teams is called so in addresses."
    return viewer, replace(query, team="", notes=(*query.notes, note))


def _of_an_agent(viewer: Viewer, query: Query) -> Query:
    word = query.terms[0] if len(query.terms) == 1 else None
    if word is None or word.is_exact or word.is_unwanted or query.agent:
        return query
    agents = Agent.objects.filter(team__in=viewer.team_ids, agent_id__iexact=word.text)
    named = agents.values_list("agent_id", flat=True).first()
    if named is None:
        return query
    note = f"{named} is one of your agents: this is from it. In quotation marks it is only words."
    return replace(query, terms=(), agent=named, notes=(*query.notes, note))


def _senders(viewer: Viewer, text: str) -> list[Sender]:
    """Who has this very id; else whoever's id begins so. And orchestrators, whatever they are
    called."""
    claims = Exists(ClaimedId.objects.filter(agent=OuterRef("pk")))
    agents = Agent.objects.filter(team__in=viewer.team_ids).annotate(claims=claims)
    meant = agents.filter(Q(agent_id__istartswith=text) | Q(claims=True)).order_by("agent_id")
    found = list(meant.values_list("pk", "agent_id", "claims"))
    begin = [(pk, name) for pk, name, _ in found if name.lower().startswith(text.lower())]
    own = {pk for pk, name in begin if name.lower() == text.lower()} or {pk for pk, _ in begin}
    others = [pk for pk, _, claims in found if claims and pk not in own]
    return [*map(Sender, own), *(Sender(pk, claimed=text) for pk in others)]


def _people(viewer: Viewer, text: str) -> list[int]:
    """Members whose name begins so; where there is none, whoever has left."""
    if text.lower() == ME:
        return [viewer.user.pk]
    named = User.objects.filter(display_name__istartswith=text).order_by("pk")
    members = named.filter(memberships__team__in=viewer.team_ids).distinct()
    return list((members if members.exists() else named).values_list("pk", flat=True)[:LISTED])


def _ended(rows: DeliveryQuerySet, outcome: str, *, at: datetime) -> DeliveryQuerySet:
    """In this way; an answer counts before a "Got it", and that before a newer one."""
    match outcome:
        case Outcome.PENDING:
            return rows.awaiting_response()
        case Outcome.EXPIRED:  # windows_of_a_team
            return rows.unanswered().filter(expires_at__lte=at)
        case Outcome.ACKNOWLEDGED:
            return rows.acknowledged().filter(answered_at__isnull=True)
        case Outcome.SUPERSEDED | Outcome.WITHDRAWN:
            unseen = rows.filter(answered_at__isnull=True, acknowledged_at__isnull=True)
            is_withdrawn = outcome == Outcome.WITHDRAWN
            return unseen.filter(superseded_at__isnull=False, withdrawn_at__isnull=not is_withdrawn)
        case _:
            return rows.answered().filter(response__status=outcome)


def _midnight(day: date) -> datetime:
    """When that day begins where the person is."""
    return timezone.make_aware(datetime.combine(day, time.min))
