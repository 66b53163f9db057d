"""Lists what waits for a person, in the four sections of the inbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Self
from uuid import UUID

from database.batched_queries import (
    PAGE,
    Cursor,
    Variant,
    count_each,
    first_of_each,
    load_first_of_each,
    older_than,
)
from inbox.assignment.claims import readers_of
from inbox.deadlines.closing_soon import open_deadlines
from inbox.deadlines.wording import CONTINUES, SOON
from inbox.list.acknowledged import button_value
from inbox.list.just_done import Done, JustDone
from inbox.list.lists import TEAM, TYPE, Lists, each_team, each_type
from inbox.list.rows import Row, row_of, waiting
from inbox.list.snoozing.snoozes import without_snoozed
from inbox.search.excerpts import excerpts_of
from inbox.search.query_language import Query
from inbox.search.search import Search
from wake.assignment.assigned import assignments_by_id, only_of
from wake.assignment.votes import voters_of
from wake.models import Delivery, DeliveryQuerySet, Response

TITLES: dict[str, str] = {
    Delivery.Type.QUESTION: "Needs your answer",
    Delivery.Type.ALERT: "Alerts",
    Delivery.Type.OUTPUT: "For review",
    Delivery.Type.UPDATE: "Updates",
}
SHORT_TITLES: dict[str, str] = {
    Delivery.Type.QUESTION: "Answer",
    Delivery.Type.ALERT: "Alerts",
    Delivery.Type.OUTPUT: "Review",
    Delivery.Type.UPDATE: "Updates",
}
COUNT_UP_TO = 500
# An agent's hint (RFC-002) sorts inside a section, among the rows of the page.
URGENCY = {priority: rank for rank, priority in enumerate(("high", "normal", "low"))}
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Section:
    """Shows one section of the inbox. `total` counts what waits for this person; `rows` also
    contains what people are answering, and what this person did a moment ago."""

    type: str
    title: str
    rows: list[Row] = field(default_factory=list)
    total: int = 0
    older: Cursor | None = None
    # How many of `total` are assigned to this person.
    own_total: int = 0

    @property
    def short_title(self) -> str:
        return SHORT_TITLES[self.type]

    @property
    def count(self) -> str:
        return limited(self.total)

    @property
    def own_count(self) -> str:
        return limited(self.own_total)

    @property
    def others_count(self) -> str:
        return limited(self.total - self.own_total)

    @property
    def own_rows(self) -> list[Row]:
        """Returns the rows that are assigned to this person, which stand above the others."""
        return [row for row in self.rows if row.is_mine]

    @property
    def other_rows(self) -> list[Row]:
        return [row for row in self.rows if not row.is_mine]

    @property
    def acknowledgeable(self) -> list[UUID]:
        return [row.delivery.pk for row in self.rows if row.may_be_acknowledged]

    @property
    def acknowledgeable_ids(self) -> str:
        """Returns the value of the button that acknowledges the whole section."""
        return button_value(self.acknowledgeable)

    @property
    def busiest(self) -> Row | None:
        """Returns a row of the agent that sent most of the newest; None unless the section is very
        long."""
        if self.total <= COUNT_UP_TO:
            return None
        [(agent, count)] = Counter(row.delivery.agent_id for row in self.rows).most_common(1)
        of_agent = [row for row in self.rows if row.delivery.agent_id == agent]
        return of_agent[0] if count > len(self.rows) / 2 else None


@dataclass(frozen=True, slots=True)
class DeadlineCounts:
    """Counts live deliveries that close soon and that this person may answer: `continuing` and
    `stopping` within the hour, `before_back` before they are back at work.

    A filter does not apply: a deadline is not less urgent because the filter hides it.
    `has_filter` makes the page say so."""

    continuing: int = 0
    stopping: int = 0
    before_back: int = 0
    has_filter: bool = False


@dataclass(frozen=True, slots=True)
class Inbox:
    sections: list[Section]
    deadlines: DeadlineCounts

    @property
    def is_clear(self) -> bool:
        """Returns whether nothing waits on this page but what was answered a moment ago."""
        return not any(row.is_open for section in self.sections for row in section.rows)

    @property
    def total(self) -> int:
        return sum(section.total for section in self.sections)

    def with_done(self, done: JustDone) -> Self:
        """Returns the inbox whose rows show what this person did with them."""
        entries = done.by_delivery()
        sections = [
            replace(section, rows=[_with_entry(row, entries) for row in section.rows])
            for section in self.sections
        ]
        return replace(self, sections=sections)

    def with_excerpts(self, query: Query) -> Self:
        """Returns the inbox whose rows show where a search found its words."""
        rows = [row for section in self.sections for row in section.rows]
        excerpts = excerpts_of([row.delivery for row in rows], query)
        if not excerpts:
            return self
        sections = [
            replace(section, rows=[row.with_excerpt(excerpts) for row in section.rows])
            for section in self.sections
        ]
        return replace(self, sections=sections)

    @property
    def ids(self) -> set[UUID]:
        """Returns the ids of the rows on this page."""
        return {row.delivery.pk for section in self.sections for row in section.rows}


def inbox(
    search: Search,
    *,
    at: datetime,
    back: datetime,
    before: Cursor | None = None,
    recent: Collection[UUID] = (),
) -> Inbox:
    """Returns the four sections, or the one that the query names; a second query counts the
    rest. `recent` are deliveries that stay on the page although they ended."""
    viewer = search.viewer
    types = [search.query.type] if search.query.type else list(TITLES)
    team_ids = [] if search.matches_nothing else viewer.team_ids
    rows = _waiting(search, at)
    newest = each_type(older_than(rows, "created_at", before), types, team_ids)
    for ended in [] if before else _ended(search, recent, at):
        newest += each_team(older_than(ended, "created_at", None), team_ids)
    columns = partial(waiting, viewer=viewer)
    loaded = load_first_of_each(newest, columns=columns)
    ruled_team_ids = [team_id for team_id in team_ids if viewer.has_rules(team_id)]
    own = only_of(rows, [viewer.user.pk])
    if not before and (ids := _farther_down(own, loaded, ruled_team_ids)):
        loaded += columns(Delivery.objects.filter(pk__in=ids))
    deliveries = sorted(loaded, key=attrgetter("created_at", "pk"), reverse=True)
    assigned = assignments_by_id({row.assignment_id for row in deliveries})
    voted = voters_of([row.pk for row in deliveries if row.quorum])
    read_now = readers_of(deliveries, viewer, at=at)
    listed = [
        row_of(
            row,
            viewer,
            at=at,
            assigned=assigned.get(row.assignment_id),
            votes=voted.get(row.pk, ()),
            reader=read_now.get(row.pk, ""),
        )
        for row in deliveries
    ]
    sections = [
        _section(type, [row for row in listed if row.delivery.type == type]) for type in types
    ]
    if not deliveries and not before and not search.query.narrows:
        return Inbox(sections, DeadlineCounts())
    has_uncounted = before or any(section.older for section in sections)
    uncounted = each_type(rows, types, team_ids) if has_uncounted else []
    own_uncounted = each_type(own, types, ruled_team_ids) if has_uncounted else []
    return _with_counts(sections, uncounted, own_uncounted, search, at=at, back=back)


def _farther_down(
    own: DeliveryQuerySet, loaded: Sequence[Delivery], team_ids: Collection[int]
) -> set[UUID]:
    """Returns which of this person's own are not loaded, because their list does not end on this
    page. Makes one query, and none if all lists do."""
    lengths = Counter((row.team_id, row.type) for row in loaded)
    newest = older_than(own.only("pk"), "created_at", None)
    longer = [
        Variant(newest, {"team": team_id, "type": type})
        for (team_id, type), length in lengths.items()
        if length > PAGE and team_id in team_ids
    ]
    return {row.pk for row in first_of_each(longer)} - {row.pk for row in loaded}


def _with_entry(row: Row, entries: Mapping[UUID, Done]) -> Row:
    entry = None if row.is_open else entries.get(row.delivery.pk)
    return replace(row, done=entry, held_by="") if entry else row


def headline(sections: list[Section]) -> str:
    """Returns the line that says whether the person is caught up; updates ask for nothing."""
    totals = {section.type: section.total for section in sections}
    updates = totals.pop(Delivery.Type.UPDATE, 0)
    waiting = sum(totals.values())
    if waiting:
        noun = "delivery needs" if waiting == 1 else "deliveries need"
        return f"{_in_words(waiting)} {noun} you"
    if updates:
        noun = "update" if updates == 1 else "updates"
        return f"Nothing needs you. {_in_words(updates)} {noun} to read"
    return "You're all caught up"


def _waiting(search: Search, at: datetime) -> DeliveryQuerySet:
    """Returns what waits in one team and of one type, which are Parameters, without what this
    person snoozed unless the query asks for it. Index: inbox_of_a_team."""
    waiting = Delivery.objects.awaiting_response().filter(type=TYPE)
    rows = search.narrowed(waiting.for_team(TEAM), at=at)
    if "snoozed" in search.query.kinds:
        return rows
    return without_snoozed(rows, search.viewer.user, at=at)


def _ended(search: Search, recent: Collection[UUID], at: datetime) -> list[DeliveryQuerySet]:
    """Returns what stays in its place in one team, so that no other row moves there: what people
    are answering, until the answer is released, and the recent. Index: held_responses."""
    held = Response.objects.held().values("delivery")
    ended = [Delivery.objects.filter(pk__in=held)]
    ended += [Delivery.objects.filter(pk__in=recent)] if recent else []
    return [search.narrowed(rows.for_team(TEAM), at=at) for rows in ended]


def _section(type: str, rows: list[Row]) -> Section:
    """Ends the page after PAGE rows, but for this person's own, which came from farther down."""
    open_rows = [row for row in rows if row.is_open]
    last = open_rows[PAGE - 1].delivery if len(open_rows) > PAGE else None
    end = rows.index(open_rows[PAGE]) if last else len(rows)
    on_page = rows[:end] + [row for row in rows[end:] if row.is_mine][:PAGE]
    return Section(
        type=type,
        title=TITLES[type],
        rows=sorted(on_page, key=lambda row: (not row.is_mine, URGENCY[row.delivery.priority])),
        total=min(len(open_rows), PAGE),
        own_total=sum(row.is_mine for row in open_rows),
        older=Cursor((last.created_at, last.pk)) if last else None,
    )


def _with_counts(
    sections: list[Section],
    uncounted: Lists,
    own_uncounted: Lists,
    search: Search,
    *,
    at: datetime,
    back: datetime,
) -> Inbox:
    """Counts, in one query, everything that the rows do not tell."""
    closing = open_deadlines(TEAM, after=at, until=back)
    soon = closing.filter(expires_at__lte=at + SOON)
    deadlines = {
        "continuing": soon.filter(on_timeout__in=CONTINUES),
        "stopping": soon.filter(on_timeout=Delivery.OnTimeout.ABORT),
        "before_back": closing,
    }
    lists = [(each.values["type"], each) for each in uncounted]
    lists += [(f"own {each.values['type']}", each) for each in own_uncounted]
    for name, rows in deadlines.items():
        lists += [(name, each) for each in each_team(rows, search.viewer.answered_team_ids)]
    counts = count_each([each for _, each in lists], at_most=COUNT_UP_TO + 1)
    totals: Counter[str] = Counter()
    for (name, _), count in zip(lists, counts, strict=True):
        totals[name] += count
    if uncounted:
        sections = [
            replace(
                section,
                total=totals[section.type],
                own_total=totals[f"own {section.type}"],
            )
            for section in sections
        ]
    named = {name: totals[name] for name in deadlines}
    return Inbox(sections, DeadlineCounts(**named, has_filter=search.query.narrows))


def limited(total: int) -> str:
    """Returns `12`, or `500+`."""
    return f"{COUNT_UP_TO}+" if total > COUNT_UP_TO else str(total)


def _in_words(total: int) -> str:
    if total > COUNT_UP_TO:
        return f"More than {COUNT_UP_TO}"
    return NUMBER_WORDS[total].capitalize() if total < len(NUMBER_WORDS) else str(total)
