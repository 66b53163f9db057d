"""Builds the page on which a person reads several outputs together and answers them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F
from django.http import QueryDict

from accounts.characters.invisible import reveal
from database.encrypted_columns import length_of
from database.encryption import Unreadable
from inbox.answering.editing.choices import undecided
from inbox.answering.editing.edits import Original
from inbox.answering.forms import LONGEST_FEEDBACK
from inbox.delivery import attachments
from inbox.delivery.reading import with_reading
from inbox.list.rows import UNUSED_COLUMNS, Row, row_of
from inbox.pages.filter_state import read_ids
from inbox.pages.viewer import Viewer
from wake.models import Delivery, Response

# In characters: what one page formats in good time, and what one person reads in one sitting.
MOST_DETAILS = 10_000
MOST_DETAILS_TOGETHER = 80_000
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
    """Shows one output on the page; `is_whole` says that the page contains its details."""

    row: Row
    is_whole: bool
    is_read: bool
    status: str

    @property
    def frame(self) -> str:
        """Returns the id of the frame that shows its details."""
        return f"details-{self.row.delivery.pk}"


@dataclass(frozen=True, slots=True)
class Review:
    """Shows the selected outputs. `others` are selected as well, but are answered on their own
    pages; so is an output that asks to choose and recommends nothing."""

    items: list[Item]
    others: list[Row]

    @property
    def read(self) -> int:
        return sum(item.is_read for item in self.items)


def review(
    viewer: Viewer, ids: Sequence[UUID], *, at: datetime, choices: Iterable[Choice] = ()
) -> Review:
    """Returns what still waits, in the order of the selection. Two queries, the second for the
    details that fit, and a third if some of these have files."""
    rows = Delivery.objects.for_person(viewer.user).awaiting_response().filter(pk__in=ids)
    with_size = with_reading(rows, viewer.user).annotate(
        agent_name=F("agent__agent_id"), size=length_of("details_json")
    )
    deliveries = {delivery.pk: delivery for delivery in with_size.defer(*UNUSED_COLUMNS)}
    rows_in_order = [row_of(deliveries[pk], viewer, at=at) for pk in ids if pk in deliveries]
    outputs = [
        row for row in rows_in_order if row.delivery.type == Delivery.Type.OUTPUT and row.may_answer
    ]
    whole = _load_details([row.delivery for row in outputs])
    outputs = [
        row for row in outputs if row.delivery.pk not in whole or not is_undecided(row.delivery)
    ]
    attachments.load(row.delivery for row in outputs if row.delivery.pk in whole)
    chosen = {choice.pk: choice for choice in choices}
    return Review(
        items=[_item(row, row.delivery.pk in whole, chosen) for row in outputs],
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
        return f"The note is longer than {LONGEST_FEEDBACK} characters. Shorten it."
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


def _load_details(deliveries: list[Delivery]) -> set[UUID]:
    """Loads the details that fit on the page, and returns the ids of those that can be read. An
    unreadable one does not keep the next one off the page."""
    fitting, together = set(), 0
    for delivery in deliveries:
        size: int = delivery.size  # type: ignore[attr-defined]  # review() adds it
        if size <= MOST_DETAILS and together + size <= MOST_DETAILS_TOGETHER:
            fitting.add(delivery.pk)
            together += size
    details = dict(Delivery.objects.filter(pk__in=fitting).values_list("pk", "details_json"))
    whole = set()
    for delivery in deliveries:
        if delivery.pk in details:
            delivery.details_json = details[delivery.pk]
            whole |= {delivery.pk} if _is_readable(delivery) else set()
    return whole


def _is_readable(delivery: Delivery) -> bool:
    """Returns False if its encryption key is lost."""
    with suppress(Unreadable):
        _ = delivery.details_json
        return True
    return False


def _item(row: Row, is_whole: bool, chosen: dict[UUID, Choice]) -> Item:  # noqa: FBT001
    choice = chosen.get(row.delivery.pk)
    return Item(
        row=row,
        is_whole=is_whole,
        is_read=choice.is_read if choice else row.is_read,
        status=choice.status if choice else "",
    )
