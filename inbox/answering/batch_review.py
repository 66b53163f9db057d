"""Builds the page on which a person reads several outputs together and answers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.http import QueryDict

from accounts.access.viewer import Viewer
from database.encrypted_columns import length_of
from database.encryption import Unreadable
from inbox.answering.editing.choices import undecided
from inbox.answering.editing.edits import Original
from inbox.answering.forms import LONGEST_FEEDBACK
from inbox.delivery import attachments, in_sight
from inbox.delivery.reading import with_reading
from inbox.list.rows import UNUSED_COLUMNS, Row, row_of
from inbox.pages.filter_state import read_ids
from pages.characters.invisible import reveal
from wake.models import Delivery, Response

# In characters: what one page formats in good time, and what one person reads in one sitting.
MOST_DETAILS = 10_000
MOST_DETAILS_TOGETHER = 80_000
# The columns that an item shows besides those of a row.
CONTENT = ("details_json", "assumption")
ANSWERS = {Response.Status.APPROVED, Response.Status.REJECTED}


@dataclass(frozen=True, slots=True)
class Choice:
    """Holds a person's choice for one delivery: approved, rejected, or none yet."""

    pk: UUID
    status: str
    content_hash: str
    is_read: bool


@dataclass(frozen=True, slots=True)
class Item:
    """Shows one output on the page, which contains everything that the agent sent."""

    row: Row
    is_read: bool
    status: str

    @property
    def frame(self) -> str:
        """Returns the id of the frame that shows its details."""
        return f"details-{self.row.delivery.pk}"


@dataclass(frozen=True, slots=True)
class Review:
    """Shows the selected outputs. `others` are selected as well, but are answered on their own
    pages. So are outputs that this page does not show whole, that are irreversible, or that ask
    to choose and recommend nothing."""

    items: list[Item]
    others: list[Row]

    @property
    def read(self) -> int:
        return sum(item.is_read for item in self.items)

    @property
    def not_here(self) -> set[UUID]:
        """Returns what this person may answer, but not on this page."""
        return {row.delivery.pk for row in self.others if row.may_answer}


def review(
    viewer: Viewer, ids: Sequence[UUID], *, at: datetime, choices: Iterable[Choice] = ()
) -> Review:
    """Returns what still waits, in the order of the selection. Two queries, the second for the
    content that fits, and a third if some of it has files."""
    rows = Delivery.objects.for_person(viewer.user).awaiting_response().filter(pk__in=ids)
    with_size = in_sight.with_can_be_shown_together(with_reading(rows, viewer.user)).annotate(
        agent_name=F("agent__agent_id"), size=length_of("details_json")
    )
    deliveries = {delivery.pk: delivery for delivery in with_size.defer(*UNUSED_COLUMNS)}
    rows_in_order = [row_of(deliveries[pk], viewer, at=at) for pk in ids if pk in deliveries]
    outputs = [
        row for row in rows_in_order if row.delivery.type == Delivery.Type.OUTPUT and row.may_answer
    ]
    fitting = [row.delivery for row in outputs if vars(row.delivery)["can_be_shown_together"]]
    loaded = _load_content(fitting)
    outputs = [row for row in outputs if row.delivery.pk in loaded]
    attachments.load(row.delivery for row in outputs)
    outputs = [row for row in outputs if _is_whole(row.delivery)]
    chosen = {choice.pk: choice for choice in choices}
    return Review(
        items=[_item(row, chosen) for row in outputs],
        others=[row for row in rows_in_order if row not in outputs],
    )


def read_choices(data: QueryDict) -> list[Choice]:
    """Reads the fields `answer-ID`, `hash-ID` and `read` of the page's form."""
    marked = read_ids(data.getlist("read"))
    return [
        Choice(
            pk=pk,
            status=status if (status := data.get(f"answer-{pk}", "")) in ANSWERS else "",
            content_hash=data.get(f"hash-{pk}", ""),
            is_read=pk in marked,
        )
        for pk in read_ids(data.getlist("id"))
    ]


def problem(choices: Iterable[Choice], note: str, viewer: Viewer) -> str:
    """Returns why nothing can be sent yet; empty if the batch can be sent. One query, and none if
    everything that is approved was read."""
    chosen = [choice for choice in choices if choice.status]
    unread = [
        choice
        for choice in chosen
        if choice.status == Response.Status.APPROVED and not choice.is_read
    ]
    if unread:
        return _mark_first([choice.pk for choice in unread], viewer)
    if len(note) > LONGEST_FEEDBACK:
        return f"Your message is too long ({LONGEST_FEEDBACK:,} characters at most). Shorten it."
    if not chosen:
        return "Nothing to send yet. Choose Approve or Reject for at least one item."
    return ""


def _mark_first(unread: list[UUID], viewer: Viewer) -> str:
    """Returns the sentence that names what was not read, the first two by their headlines."""
    own_deliveries = Delivery.objects.for_person(viewer.user).filter(pk__in=unread)
    headlines = dict(own_deliveries.values_list("pk", "headline"))
    names = [f"“{reveal(headlines[pk])}”" for pk in unread if pk in headlines]
    if len(names) < 2:
        return f"Mark {names[0] if names else 'the item'} as read before approving it."
    rest = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"Mark {names[0]} and {rest} as read before approving them."


def is_undecided(delivery: Delivery) -> bool:
    """Returns whether it cannot be approved without a choice. Makes a query if its details are not
    loaded. Returns False if their encryption key is lost."""
    with suppress(Unreadable):
        return bool(undecided(Original.of(delivery)))
    return False


def _is_whole(delivery: Delivery) -> bool:
    """Returns whether the page shows everything of a loaded delivery, so that it can be approved
    there as it is."""
    return not in_sight.left_out(delivery) and not is_undecided(delivery)


def _load_content(deliveries: list[Delivery]) -> set[UUID]:
    """Loads the content that fits on the page, and returns the ids of what can be read. An
    unreadable one does not keep the next one off the page."""
    fitting, together = set(), 0
    for delivery in deliveries:
        size: int = delivery.size  # type: ignore[attr-defined]  # review() adds it
        if size <= MOST_DETAILS and together + size <= MOST_DETAILS_TOGETHER:
            fitting.add(delivery.pk)
            together += size
    content = Delivery.objects.filter(pk__in=fitting).values("pk", *CONTENT)
    by_id = {columns.pop("pk"): columns for columns in content}
    return {
        delivery.pk
        for delivery in deliveries
        if delivery.pk in by_id and _is_readable(delivery, by_id[delivery.pk])
    }


def _is_readable(delivery: Delivery, content: Mapping[str, Any]) -> bool:
    """Sets the content of the delivery. Returns False if its encryption key is lost."""
    with suppress(Unreadable):
        for column, value in content.items():
            setattr(delivery, column, value)
            getattr(delivery, column)
        return True
    return False


def _item(row: Row, chosen: dict[UUID, Choice]) -> Item:
    choice = chosen.get(row.delivery.pk)
    return Item(
        row=row,
        is_read=choice.is_read if choice else row.is_read,
        status=choice.status if choice else "",
    )
