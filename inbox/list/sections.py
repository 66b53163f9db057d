"""Lists the deliveries that wait for a person, in the four sections of the inbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Self
from uuid import UUID

from django.db.models import Q

from database.batched_queries import (
    PAGE,
    Cursor,
    Variant,
    count_each,
    first_of_each,
    load_first_of_each,
    older_than,
)
from inbox.answering.just_done import JustDone
from inbox.list.deadlines.closing_soon import open_deadlines
from inbox.list.failures import FailureRow, failure_row
from inbox.reading.deadlines import CONTINUES, SOON
from inbox.reading.done import Done, button_value
from inbox.reading.lists import TEAM, TYPE, Lists, each_team, each_type
from inbox.reading.order import SHORT_TITLES, TITLES, URGENCY
from inbox.reading.presence import readers_of
from inbox.reading.rows import DeliveryRow, listed, row_of, waiting
from inbox.reading.snoozes import without_snoozed
from inbox.search.excerpts import excerpts_of
from inbox.search.query_language import Query
from inbox.search.search import Search
from wake.assignment.assigned import assignments_by_id, only_of
from wake.assignment.votes import voters_of
from wake.models import Delivery, DeliveryQuerySet, Response

COUNT_UP_TO = 500
MAX_FAILURES = 20
UNUSED_OF_A_FAILURE = (
    *("failure__outcome__details_json", "response__feedback", "response__edited_json"),
    *("response__left_out", "response__quorum_json"),
)
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Section:
    """Shows one section of the inbox. `total` counts the deliveries that wait for this person.
    `rows` also contains deliveries that others are answering, and deliveries that this person just
    answered."""

    type: str
    title: str
    rows: list[DeliveryRow] = field(default_factory=list)
    total: int = 0
    older: Cursor | None = None
    # How many deliveries of `total` are assigned to this person.
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
    def own_rows(self) -> list[DeliveryRow]:
        """Returns the rows that are assigned to this person. The page shows them above all other
        rows."""
        return [row for row in self.rows if row.is_mine]

    @property
    def other_rows(self) -> list[DeliveryRow]:
        return [row for row in self.rows if not row.is_mine]

    @property
    def acknowledgeable(self) -> list[UUID]:
        return [row.delivery.pk for row in self.rows if row.may_be_acknowledged]

    @property
    def acknowledgeable_ids(self) -> str:
        """Returns the value of the button that acknowledges the whole section."""
        return button_value(self.acknowledgeable)

    @property
    def busiest(self) -> DeliveryRow | None:
        """Returns a row of the agent that sent more than half of the newest deliveries. Returns
        None if no agent did, or if the section is not very long."""
        if self.total <= COUNT_UP_TO:
            return None
        [(agent, count)] = Counter(row.delivery.agent_id for row in self.rows).most_common(1)
        of_agent = [row for row in self.rows if row.delivery.agent_id == agent]
        return of_agent[0] if count > len(self.rows) / 2 else None


@dataclass(frozen=True, slots=True)
class DeadlineCounts:
    """Counts live deliveries that close soon and that this person may answer. `continuing` and
    `stopping` close within the hour, and `before_back` before the person is back at work. The
    filter of the list does not apply, because a hidden deadline is just as urgent. If the list is
    filtered (`has_filter`), the page says that the counts ignore the filter."""

    continuing: int = 0
    stopping: int = 0
    before_back: int = 0
    has_filter: bool = False


@dataclass(frozen=True, slots=True)
class Inbox:
    sections: list[Section]
    deadlines: DeadlineCounts
    failures: list[FailureRow] = field(default_factory=list)

    @property
    def is_clear(self) -> bool:
        """Returns whether the page has only deliveries that were just answered."""
        rows = [row for section in self.sections for row in section.rows]
        return not (self.open_failures or any(row.is_open for row in rows))

    @property
    def total(self) -> int:
        return sum(section.total for section in self.sections) + len(self.open_failures)

    @property
    def open_failures(self) -> list[UUID]:
        return [each.row.delivery.pk for each in self.failures if each.is_open]

    @property
    def has_more_failures(self) -> bool:
        """Returns whether there may be older failures that the page does not show."""
        return len(self.failures) == MAX_FAILURES

    @property
    def acknowledgeable_failure_ids(self) -> str:
        """Returns the value of the button that acknowledges all failures on this page, or an empty
        text if there is at most one."""
        ids = [each.row.delivery.pk for each in self.failures if each.may_be_acknowledged]
        return button_value(ids) if len(ids) > 1 else ""

    def with_done(self, done: JustDone) -> Self:
        """Returns the inbox with the results of this person's actions in its rows."""
        entries = done.by_delivery()
        sections = [
            replace(section, rows=[_with_entry(row, entries) for row in section.rows])
            for section in self.sections
        ]
        failed = [row.with_done(entries) for row in self.failures]
        return replace(self, sections=sections, failures=failed)

    def with_excerpts(self, query: Query) -> Self:
        """Returns the inbox with excerpts in its rows. An excerpt shows where the search found its
        words."""
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
    """Returns the failures, and either all four sections or the section that the query names.
    Another query counts the deliveries that were not loaded. `recent` are deliveries that stay on
    the page although they ended."""
    sections = _inbox(search, at=at, back=back, before=before, recent=recent)
    if before:
        return sections
    failed = _failed(search, recent, at)
    rows = [failure_row(delivery, search.viewer, at=at) for delivery in failed]
    return replace(sections, failures=rows)


def _inbox(
    search: Search,
    *,
    at: datetime,
    back: datetime,
    before: Cursor | None,
    recent: Collection[UUID],
) -> Inbox:
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
    delivery_rows = [
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
        _section(type, [row for row in delivery_rows if row.delivery.type == type])
        for type in types
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
    """Returns this person's own deliveries that are not loaded, because they are in a list that
    continues beyond this page. Makes one query, or none if all lists end on this page."""
    lengths = Counter((row.team_id, row.type) for row in loaded)
    newest = older_than(own.only("pk"), "created_at", None)
    longer = [
        Variant(newest, {"team": team_id, "type": type})
        for (team_id, type), length in lengths.items()
        if length > PAGE and team_id in team_ids
    ]
    return {row.pk for row in first_of_each(longer)} - {row.pk for row in loaded}


def _with_entry(row: DeliveryRow, entries: Mapping[UUID, Done]) -> DeliveryRow:
    entry = None if row.is_open else entries.get(row.delivery.pk)
    return replace(row, done=entry, held_by="") if entry else row


def headline(inbox: Inbox) -> str:
    """Returns the line that says whether the person is caught up. Updates do not count. Failures
    count only if nothing else waits."""
    totals = {section.type: section.total for section in inbox.sections}
    updates = totals.pop(Delivery.Type.UPDATE, 0)
    waiting = sum(totals.values())
    if waiting:
        noun = "delivery needs" if waiting == 1 else "deliveries need"
        return f"{_in_words(waiting)} {noun} you"
    if failed := len(inbox.open_failures):
        noun = "approved action" if failed == 1 else "approved actions"
        return f"Nothing needs you. {_in_words(failed)} {noun} failed"
    if updates:
        noun = "update" if updates == 1 else "updates"
        return f"Nothing needs you. {_in_words(updates)} {noun} to read"
    return "You're all caught up"


def _waiting(search: Search, at: datetime) -> DeliveryQuerySet:
    """Returns the waiting deliveries of one team and one type. The team and the type are
    Parameters. Leaves out deliveries that this person snoozed, unless the query asks for them.
    Index: waiting_of_a_team."""
    waiting = Delivery.objects.awaiting_response().filter(type=TYPE)
    rows = search.narrowed(waiting.for_team(TEAM), at=at)
    if "snoozed" in search.query.kinds:
        return rows
    return without_snoozed(rows, search.viewer.user, at=at)


def _ended(search: Search, recent: Collection[UUID], at: datetime) -> list[DeliveryQuerySet]:
    """Returns the ended deliveries of one team that stay in their place, so that no other row
    moves. Such deliveries are the `recent` ones, and those whose answer is still held. Index:
    held_responses."""
    held = Response.objects.held().values("delivery")
    ended = [Delivery.objects.filter(pk__in=held)]
    # A failure has its own place on the page.
    stay = Delivery.objects.filter(pk__in=recent, failure__isnull=True)
    ended += [stay] if recent else []
    return [search.narrowed(rows.for_team(TEAM), at=at) for rows in ended]


def _failed(search: Search, recent: Collection[UUID], at: datetime) -> DeliveryQuerySet:
    """Returns the newest failures of approved actions that no person has acknowledged, and the
    recent failures. Index: failures_of_a_team."""
    stay = Q(failure__acknowledged_at__isnull=True)
    stay |= Q(pk__in=recent) if recent else Q()
    failed = Delivery.objects.failed().with_content().filter(stay)
    failed = failed.filter(failure__team__in=search.viewer.team_ids)
    rows = listed(search.narrowed(failed, at=at)).select_related("failure__outcome", "response")
    newest = rows.defer(*UNUSED_OF_A_FAILURE).order_by("-failure__failed_at", "pk")
    return newest[:MAX_FAILURES]


def _section(type: str, rows: list[DeliveryRow]) -> Section:
    """Returns a section with at most PAGE rows, and this person's own rows from farther down."""
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
    """Adds the counts. Makes one query for counts that do not follow from the loaded rows."""
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
