"""Finds the deliveries that match a query and that a person may see, newest first.

Every list is read in the order of an index, and stops when a page is full. On PostgreSQL, words
have time buckets for this (inbox/search/time_buckets.py).
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

from accounts.access.viewer import Viewer
from accounts.models import Agent, ApiKey, ClaimedId, User
from database.batched_queries import PAGE, Cursor, first_of_each, older_than
from inbox.models import Snooze
from inbox.reading.deadlines import SOON
from inbox.search import time_buckets
from inbox.search.matching import WordQuery
from inbox.search.outcomes import OutcomeFilter
from inbox.search.query_language import Query
from wake.assignment.assigned import only_of
from wake.models import Delivery, DeliveryQuerySet, Response

ME = "me"
# Up to this many agents or people are read as separate lists. If a search names more agents or
# people, one list is filtered instead.
MAX_LISTS = 10
WAITING = {OutcomeFilter.PENDING, OutcomeFilter.EXPIRED}
Narrow = Callable[[DeliveryQuerySet], DeliveryQuerySet]


@dataclass(frozen=True, slots=True)
class SenderMatch:
    """Names an agent that matches a name. With `claimed`, only deliveries that the agent sent under
    such a name count."""

    pk: UUID
    claimed: str = ""

    @property
    def condition(self) -> Q:
        return Q(claimed_agent_id__istartswith=self.claimed) if self.claimed else Q()


@dataclass(frozen=True, slots=True)
class Search:
    """Holds a query with its words, agents and people looked up. `senders`, `people` and
    `assignees` are None if the query names none."""

    viewer: Viewer
    query: Query
    words: WordQuery
    senders: list[SenderMatch] | None
    people: list[int] | None
    assignees: list[int] | None

    @classmethod
    def of(cls, viewer: Viewer, query: Query) -> Self:
        """Makes one database query for each kind of name, and one or two for words. A single word
        that is an agent's id filters by that agent. If the query names a team, `viewer` is
        restricted to it."""
        viewer, query = _within_team(viewer, query)
        query = _as_agent_filter(viewer, query)
        senders = _senders(viewer, query.agent) if query.agent else None
        people = _people(viewer, query.by) if query.by else None
        assignees = _people(viewer, query.assigned) if query.assigned else None
        words = WordQuery.of(query.terms)
        query = replace(query, notes=(*query.notes, *words.notes))
        return cls(viewer, query, words, senders, people, assignees)

    def narrowed(self, rows: DeliveryQuerySet, *, at: datetime) -> DeliveryQuerySet:
        """Filters any list by the query. Use this method for short lists such as the inbox."""
        if self.matches_nothing:
            return rows.none()
        rows = self._of_people(self._of_senders(rows.filter(mode=self._mode)))
        return self.words.narrow(self._narrowed(rows, at=at))

    def newest(
        self, narrow: Narrow, *, at: datetime, before: Cursor | None = None
    ) -> tuple[list[Delivery], Cursor | None]:
        """Returns a page and where the next one begins; `narrow` chooses the rows and columns."""
        if self.matches_nothing:
            return [], None
        if self._uses_time_buckets:
            matches = self._from_time_buckets(narrow, at=at, before=before)
        else:
            matches = first_of_each(
                [
                    older_than(self.words.narrow(rows), self._order, before)
                    for rows in self._lists(narrow, at=at)
                ]
            )
        matches.sort(key=self._position, reverse=True)
        older = Cursor(self._position(matches[PAGE - 1])) if len(matches) > PAGE else None
        return matches[:PAGE], older

    @property
    def matches_nothing(self) -> bool:
        return [] in (self.senders, self.people, self.assignees, self.viewer.team_ids)

    @property
    def _mode(self) -> str:
        return ApiKey.Mode.TEST if self.query.is_test else ApiKey.Mode.LIVE

    @property
    def _uses_time_buckets(self) -> bool:
        return connection.vendor == "postgresql" and bool(self.words.wanted)

    @property
    def _order(self) -> str:
        """Returns the column to sort by: the answer's time for a search by person, the creation
        time for waiting deliveries, otherwise the last activity. Each of these columns has an
        index."""
        if self._uses_time_buckets:
            return "activity_at"
        if self.people is not None:
            return "response__answered_at"
        return "created_at" if self.query.status in WAITING else "activity_at"

    def listed_at(self, row: Delivery) -> datetime:
        """Returns the time that sorts the results."""
        return self._position(row)[0]

    def _position(self, row: Delivery) -> tuple[datetime, UUID]:
        return getattr(row, self._order.removeprefix("response__")), row.pk

    def _lists(self, narrow: Narrow, *, at: datetime) -> list[DeliveryQuerySet]:
        rows = self._narrowed(narrow(Delivery.objects.filter(mode=self._mode)), at=at)
        if self.people is not None:  # answers_of_a_person
            answered = self._of_senders(rows.filter(team__in=self.viewer.team_ids))
            return [answered.filter(response__by=person) for person in self.people]
        if self.senders is not None and len(self.senders) <= MAX_LISTS:  # cursor_of_an_agent
            return [rows.filter(sender.condition, agent=sender.pk) for sender in self.senders]
        # history_of_a_team
        return [self._of_senders(rows.for_team(team_id)) for team_id in self.viewer.team_ids]

    def _from_time_buckets(
        self, narrow: Narrow, *, at: datetime, before: Cursor | None
    ) -> list[Delivery]:
        rows = Delivery.objects.filter(team__in=self.viewer.team_ids, mode=self._mode)
        rows = self._narrowed(narrow(self._of_people(self._of_senders(rows))), at=at)
        owners = [time_buckets.of_team(team_id) for team_id in self.viewer.team_ids]
        if self.senders is not None and len(self.senders) <= MAX_LISTS:
            owners = [time_buckets.of_agent(sender.pk) for sender in self.senders]
        newest, oldest = self._span(at=at, before=before)
        return time_buckets.newest(
            older_than(rows, "activity_at", before),
            match=self.words.match,
            names=time_buckets.names(owners, self._mode, newest=newest, oldest=oldest),
            count=PAGE + 1,
        )

    def _span(self, *, at: datetime, before: Cursor | None) -> tuple[datetime, datetime]:
        """Returns the earliest and the latest time that a matching delivery can have."""
        ends = [at, before[0] if before else at]
        first = min(membership.team.created_at for membership in self.viewer.memberships.values())
        begins = [first - time_buckets.ONE_DAY]  # the clock of another server may have been behind
        if self.people is not None:
            answers = Response.objects.filter(by__in=self.people)
            last = answers.aggregate(last=Max("answered_at"))["last"]
            ends.append(last + time_buckets.ONE_DAY if last else begins[0])
        if self.query.before:
            ends.append(_midnight(self.query.before))
        if self.query.after:
            begins.append(_midnight(self.query.after))
        return min(ends), max(begins)

    def _narrowed(self, rows: DeliveryQuerySet, *, at: datetime) -> DeliveryQuerySet:
        """Filters by everything except mode, names and words."""
        query = self.query
        if query.type:
            rows = rows.filter(type=query.type)
        if query.status:
            rows = _ended(rows, query.status, at=at)
        if self.assignees is not None:
            rows = only_of(rows, self.assignees)
        if query.thread:  # thread_of_an_agent contains no empty thread
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
            case "failed":  # failures_of_a_team
                return rows.failed()
            case "used":
                return rows.filter(response__claim__isnull=False)
            case "late":
                return rows.filter(answered_at__gt=F("expires_at"))
            case "held":  # held_responses
                return rows.filter(pk__in=Response.objects.held().values("delivery"))
            case "snoozed":  # snoozed_now
                snoozed = Snooze.objects.of(self.viewer.user, at=at)
                return rows.filter(pk__in=snoozed.delivery_ids())
            case _:
                return rows.filter(expires_at__gt=at, expires_at__lte=at + SOON)

    def _of_senders(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        if self.senders is None:
            return rows
        own = Q(agent__in=[sender.pk for sender in self.senders if not sender.claimed])
        claimed = [
            Q(sender.condition, agent=sender.pk) for sender in self.senders if sender.claimed
        ]
        return rows.filter(reduce(or_, claimed, own))

    def _of_people(self, rows: DeliveryQuerySet) -> DeliveryQuerySet:
        return rows if self.people is None else rows.filter(response__by__in=self.people)


def _within_team(viewer: Viewer, query: Query) -> tuple[Viewer, Query]:
    within = viewer.within(query.team) if query.team else viewer
    if within is not None:
        return within, query
    note = f"“team:{query.team}” was left out: you have no team with this handle."
    return viewer, replace(query, team="", notes=(*query.notes, note))


def _as_agent_filter(viewer: Viewer, query: Query) -> Query:
    word = query.terms[0] if len(query.terms) == 1 else None
    if word is None or word.is_exact or word.is_unwanted or query.agent:
        return query
    agents = Agent.objects.filter(team__in=viewer.team_ids, agent_id__iexact=word.text)
    named = agents.values_list("agent_id", flat=True).first()
    if named is None:
        return query
    note = (
        f"Showing deliveries from your agent {named}. To search for the text, use quotation marks."
    )
    return replace(query, terms=(), agent=named, notes=(*query.notes, note))


def _senders(viewer: Viewer, text: str) -> list[SenderMatch]:
    """Returns the agents with this id, or else those whose id begins with it, and all
    orchestrators."""
    claims = Exists(ClaimedId.objects.filter(agent=OuterRef("pk")))
    agents = Agent.objects.filter(team__in=viewer.team_ids).annotate(claims=claims)
    candidates = agents.filter(Q(agent_id__istartswith=text) | Q(claims=True)).order_by("agent_id")
    matches = list(candidates.values_list("pk", "agent_id", "claims"))
    begin = [(pk, name) for pk, name, _ in matches if name.lower().startswith(text.lower())]
    own = {pk for pk, name in begin if name.lower() == text.lower()} or {pk for pk, _ in begin}
    others = [pk for pk, _, claims in matches if claims and pk not in own]
    return [*map(SenderMatch, own), *(SenderMatch(pk, claimed=text) for pk in others)]


def _people(viewer: Viewer, text: str) -> list[int]:
    """Returns members whose name begins with the text. If there are none, returns people who have
    left but answered in these teams."""
    if text.lower() == ME:
        return [viewer.user.pk]
    named = User.objects.filter(display_name__istartswith=text).order_by("pk")
    members = named.filter(memberships__team__in=viewer.team_ids).distinct()
    matches = list(members.values_list("pk", flat=True)[:MAX_LISTS])
    if matches:
        return matches
    answers = Response.objects.filter(by=OuterRef("pk"), delivery__team__in=viewer.team_ids)
    return list(named.filter(Exists(answers)).values_list("pk", flat=True)[:MAX_LISTS])


def _ended(rows: DeliveryQuerySet, outcome: str, *, at: datetime) -> DeliveryQuerySet:
    """Filters by how a delivery ended. An answer wins over an acknowledgement, which wins over a
    replacement."""
    match outcome:
        case OutcomeFilter.PENDING:
            return rows.awaiting_response()
        case OutcomeFilter.EXPIRED:  # windows_of_a_team
            return rows.unanswered().filter(expires_at__lte=at)
        case OutcomeFilter.ACKNOWLEDGED:
            return rows.acknowledged().filter(answered_at__isnull=True)
        case OutcomeFilter.SUPERSEDED | OutcomeFilter.WITHDRAWN:
            untouched = rows.filter(answered_at__isnull=True, acknowledged_at__isnull=True)
            is_withdrawn = outcome == OutcomeFilter.WITHDRAWN
            return untouched.filter(
                superseded_at__isnull=False, withdrawn_at__isnull=not is_withdrawn
            )
        case _:
            return rows.answered().filter(response__status=outcome)


def _midnight(day: date) -> datetime:
    """Returns when the day begins in the person's time zone."""
    return timezone.make_aware(datetime.combine(day, time.min))
