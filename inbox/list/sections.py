"""Lists what waits for a person, in the four sections of the inbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from operator import attrgetter
from uuid import UUID

from database.batched_queries import PAGE, Cursor, count_each, load_first_of_each, older_than
from inbox.deadlines.closing_soon import open_deadlines
from inbox.deadlines.wording import CONTINUES, SOON
from inbox.list.acknowledged import button_value
from inbox.list.rows import Row, row_of, waiting
from inbox.pages.viewer import Viewer
from inbox.search.search import Search
from inbox.snoozing.snoozes import without_snoozed
from wake.models import Delivery, DeliveryQuerySet, Response

TITLES: dict[str, str] = {
    Delivery.Type.QUESTION: "Needs your answer",
    Delivery.Type.ALERT: "Alerts",
    Delivery.Type.OUTPUT: "For review",
    Delivery.Type.UPDATE: "Updates",
}
COUNT_UP_TO = 500
# An agent's hint (RFC-002) sorts inside a section, among the rows of the page.
URGENCY = {priority: rank for rank, priority in enumerate(("high", "normal", "low"))}
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Section:
    """`total` counts what waits for this person; `rows` also contains what a colleague is
    answering."""

    type: str
    title: str
    rows: list[Row] = field(default_factory=list)
    total: int = 0
    older: Cursor | None = None

    @property
    def count(self) -> str:
        return _count(self.total)

    @property
    def acknowledgeable(self) -> list[UUID]:
        return [row.delivery.pk for row in self.rows if row.may_be_acknowledged]

    @property
    def all_shown(self) -> str:
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
    `stopping` within the hour, `before_back` before they are back at work."""

    continuing: int = 0
    stopping: int = 0
    before_back: int = 0


@dataclass(frozen=True, slots=True)
class Inbox:
    sections: list[Section]
    deadlines: DeadlineCounts

    @property
    def is_clear(self) -> bool:
        return not any(section.rows for section in self.sections)

    @property
    def ids(self) -> set[UUID]:
        """Returns the ids of the rows on this page."""
        return {row.delivery.pk for section in self.sections for row in section.rows}


def inbox(search: Search, *, at: datetime, back: datetime, before: Cursor | None = None) -> Inbox:
    """Returns the four sections, or the one that the query names; a second query counts the
    rest."""
    viewer = search.viewer
    types = [search.query.type] if search.query.type else list(TITLES)
    lists = _waiting(search, types, at)
    newest = [
        older_than(rows, "created_at", before)
        for rows in [*chain(*lists.values()), *([] if before else _held_by_others(search, at))]
    ]
    loaded = load_first_of_each(newest, columns=partial(waiting, user=viewer.user))
    deliveries = sorted(loaded, key=attrgetter("created_at", "pk"), reverse=True)
    sections = [
        _section(type, [row for row in deliveries if row.type == type], viewer, at)
        for type in types
    ]
    if not deliveries and not before and not search.query.narrows:
        return Inbox(sections, DeadlineCounts())
    uncounted = lists if before or any(section.older for section in sections) else {}
    return _with_counts(sections, uncounted, viewer, at=at, back=back)


def headline(sections: list[Section]) -> str:
    """Returns the line that says whether the person is caught up; updates ask for nothing."""
    totals = {section.type: section.total for section in sections}
    updates = totals.pop(Delivery.Type.UPDATE, 0)
    waiting = sum(totals.values())
    if waiting:
        verb = "delivery waits" if waiting == 1 else "deliveries wait"
        return f"{_in_words(waiting)} {verb} for you, at your pace"
    if updates:
        noun = "update" if updates == 1 else "updates"
        return f"Nothing waits for you. {_in_words(updates)} {noun} to read when you like"
    return "All clear"


def _waiting(
    search: Search, types: Sequence[str], at: datetime
) -> dict[str, list[DeliveryQuerySet]]:
    """Returns for each type one list a team, read from inbox_of_a_team, without what this person
    snoozed unless the query asks for it."""
    if search.matches_nothing:
        return {type: [] for type in types}
    viewer, waiting = search.viewer, Delivery.objects.awaiting_response()
    teams = [search.narrowed(waiting.for_team(pk), at=at) for pk in viewer.team_ids]
    if "later" not in search.query.kinds:
        teams = [without_snoozed(rows, viewer.user, at=at) for rows in teams]
    return {type: [rows.filter(type=type) for rows in teams] for type in types}


def _held_by_others(search: Search, at: datetime) -> list[DeliveryQuerySet]:
    """Returns what a colleague is answering: it stays on the page until the answer is released.
    Index: held_responses."""
    if search.matches_nothing:
        return []
    viewer = search.viewer
    held = Response.objects.held().exclude(by=viewer.user).values("delivery")
    rows = Delivery.objects.filter(pk__in=held)
    return [search.narrowed(rows.for_team(pk), at=at) for pk in viewer.team_ids]


def _section(type: str, deliveries: list[Delivery], viewer: Viewer, at: datetime) -> Section:
    rows = [row_of(delivery, viewer, at=at) for delivery in deliveries]
    open_rows = [row for row in rows if not row.held_by]
    last = open_rows[PAGE - 1].delivery if len(open_rows) > PAGE else None
    on_page = rows[: rows.index(open_rows[PAGE])] if last else rows
    return Section(
        type=type,
        title=TITLES[type],
        rows=sorted(on_page, key=lambda row: URGENCY[row.delivery.priority]),
        total=min(len(open_rows), PAGE),
        older=Cursor((last.created_at, last.pk)) if last else None,
    )


def _with_counts(
    sections: list[Section],
    uncounted: dict[str, list[DeliveryQuerySet]],
    viewer: Viewer,
    *,
    at: datetime,
    back: datetime,
) -> Inbox:
    """Counts, in one query, everything that the rows do not tell."""
    closing = open_deadlines(viewer.answered_team_ids, after=at, until=back)
    soon = [rows.filter(expires_at__lte=at + SOON) for rows in closing]
    lists = {
        **uncounted,
        "continuing": [rows.filter(on_timeout__in=CONTINUES) for rows in soon],
        "stopping": [rows.filter(on_timeout=Delivery.OnTimeout.ABORT) for rows in soon],
        "before_back": closing,
    }
    named = [(name, rows) for name, of_name in lists.items() for rows in of_name]
    counts = count_each([rows for _, rows in named], at_most=COUNT_UP_TO + 1)
    totals = dict.fromkeys(lists, 0)
    for (name, _), count in zip(named, counts, strict=True):
        totals[name] += count
    deadlines = DeadlineCounts(totals["continuing"], totals["stopping"], totals["before_back"])
    return Inbox(
        [replace(section, total=totals.get(section.type, section.total)) for section in sections],
        deadlines,
    )


def _count(total: int) -> str:
    return f"{COUNT_UP_TO}+" if total > COUNT_UP_TO else str(total)


def _in_words(total: int) -> str:
    if total > COUNT_UP_TO:
        return f"More than {COUNT_UP_TO}"
    return NUMBER_WORDS[total].capitalize() if total < len(NUMBER_WORDS) else str(total)
