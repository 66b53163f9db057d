"""What waits for a person, in the four sections of the inbox."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from operator import attrgetter
from uuid import UUID

from inbox.got_it import as_value
from inbox.later import without_snoozed
from inbox.leaving import closing_windows
from inbox.rows import Row, row_of, waiting
from inbox.search import Search
from inbox.slices import PAGE, Cursor, count_each, first_of_each, older_than
from inbox.viewer import Viewer
from inbox.windows import CONTINUES, SOON
from wake.models import Delivery, DeliveryQuerySet, Response

TITLES: dict[str, str] = {
    Delivery.Type.QUESTION: "Needs your answer",
    Delivery.Type.ALERT: "Alerts",
    Delivery.Type.OUTPUT: "For review",
    Delivery.Type.UPDATE: "Updates",
}
COUNTED = 500
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Section:
    """`total` counts what waits for the person; what somebody else is answering is in `rows`
    only."""

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
        """The value of the button that says "Got it" to all of them."""
        return as_value(self.acknowledgeable)

    @property
    def busiest(self) -> Row | None:
        """From whom most of the newest are, where there are more than anybody reads."""
        if self.total <= COUNTED:
            return None
        [(agent, count)] = Counter(row.delivery.agent_id for row in self.rows).most_common(1)
        of_agent = [row for row in self.rows if row.delivery.agent_id == agent]
        return of_agent[0] if count > len(self.rows) / 2 else None


@dataclass(frozen=True, slots=True)
class Windows:
    """How many of the live ones close soon, where this person may answer: within the hour those
    whose agents go on or stop by themselves, and all before they are back."""

    continuing: int = 0
    stopping: int = 0
    before_back: int = 0


@dataclass(frozen=True, slots=True)
class Inbox:
    sections: list[Section]
    windows: Windows

    @property
    def is_clear(self) -> bool:
        return not any(section.rows for section in self.sections)

    @property
    def ids(self) -> set[UUID]:
        """Of the rows on this page."""
        return {row.delivery.pk for section in self.sections for row in section.rows}


def inbox(search: Search, *, at: datetime, back: datetime, before: Cursor | None = None) -> Inbox:
    """The four sections, or the one that the query names; the second query counts."""
    viewer = search.viewer
    types = [search.query.type] if search.query.type else list(TITLES)
    lists = {type: _waiting(search, type, at) for type in types}
    newest = [
        older_than(waiting(rows, viewer.user), "created_at", before)
        for rows in [*chain(*lists.values()), *([] if before else _held_by_others(search, at))]
    ]
    found = sorted(first_of_each(newest), key=attrgetter("created_at", "pk"), reverse=True)
    made = [
        _section(type, [row for row in found if row.type == type], viewer, at) for type in types
    ]
    if not found and not before and not search.query.narrows:
        return Inbox(made, Windows())
    uncounted = lists if before or any(section.older for section in made) else {}
    return _counted(made, uncounted, viewer, at=at, back=back)


def headline(made: list[Section]) -> str:
    """The one line that says whether the person is caught up; updates ask for nothing."""
    totals = {section.type: section.total for section in made}
    updates = totals.pop(Delivery.Type.UPDATE, 0)
    waiting = sum(totals.values())
    if waiting:
        verb = "delivery waits" if waiting == 1 else "deliveries wait"
        return f"{_in_words(waiting)} {verb} for you, at your pace"
    if updates:
        noun = "update" if updates == 1 else "updates"
        return f"Nothing waits for you. {_in_words(updates)} {noun} to read when you like"
    return "All clear"


def _waiting(search: Search, type: str, at: datetime) -> list[DeliveryQuerySet]:
    """One list a team, each read from inbox_of_a_team, without what this person put off unless they
    ask for it."""
    if search.means_nobody:
        return []
    viewer, waiting = search.viewer, Delivery.objects.awaiting_response().filter(type=type)
    lists = [search.narrowed(waiting.for_team(pk), at=at) for pk in viewer.team_ids]
    if "later" in search.query.kinds:
        return lists
    return [without_snoozed(rows, viewer.user, at=at) for rows in lists]


def _held_by_others(search: Search, at: datetime) -> list[DeliveryQuerySet]:
    """What a colleague is answering just now: it is still shown, and leaves with the hold. Index:
    held_responses."""
    if search.means_nobody:
        return []
    viewer = search.viewer
    held = Response.objects.held().exclude(by=viewer.user).values("delivery")
    rows = Delivery.objects.filter(pk__in=held)
    return [search.narrowed(rows.for_team(pk), at=at) for pk in viewer.team_ids]


def _section(type: str, found: list[Delivery], viewer: Viewer, at: datetime) -> Section:
    rows = [row_of(delivery, viewer, at=at) for delivery in found]
    open_rows = [row for row in rows if not row.held_by]
    last = open_rows[PAGE - 1].delivery if len(open_rows) > PAGE else None
    shown = rows[: rows.index(open_rows[PAGE])] if last else rows
    return Section(
        type=type,
        title=TITLES[type],
        rows=shown,
        total=min(len(open_rows), PAGE),
        older=Cursor((last.created_at, last.pk)) if last else None,
    )


def _counted(
    made: list[Section],
    uncounted: dict[str, list[DeliveryQuerySet]],
    viewer: Viewer,
    *,
    at: datetime,
    back: datetime,
) -> Inbox:
    """One query for all that is not known from the rows."""
    closing = closing_windows(viewer.answered_team_ids, after=at, until=back)
    soon = [rows.filter(expires_at__lte=at + SOON) for rows in closing]
    lists = {
        **uncounted,
        "continuing": [rows.filter(on_timeout__in=CONTINUES) for rows in soon],
        "stopping": [rows.filter(on_timeout=Delivery.OnTimeout.ABORT) for rows in soon],
        "before_back": closing,
    }
    named = [(name, rows) for name, of_name in lists.items() for rows in of_name]
    counts = count_each([rows for _, rows in named], at_most=COUNTED + 1)
    totals = dict.fromkeys(lists, 0)
    for (name, _), count in zip(named, counts, strict=True):
        totals[name] += count
    windows = Windows(totals["continuing"], totals["stopping"], totals["before_back"])
    return Inbox([replace(each, total=totals.get(each.type, each.total)) for each in made], windows)


def _count(total: int) -> str:
    return f"{COUNTED}+" if total > COUNTED else str(total)


def _in_words(total: int) -> str:
    if total > COUNTED:
        return f"More than {COUNTED}"
    return NUMBERS[total].capitalize() if total < len(NUMBERS) else str(total)
