"""Builds the page on which a person reads several outputs and answers them together."""

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
from inbox.reading import attachments, in_sight
from inbox.reading.readings import with_reading
from inbox.reading.rows import UNUSED_COLUMNS, DeliveryRow, row_of
from inbox.search.filter_state import read_ids
from pages.characters.invisible import reveal_value
from wake.models import Delivery, Response

# In characters. A page must format the details quickly, and a person reads them in one go.
MAX_DETAILS = 10_000
MAX_DETAILS_TOGETHER = 80_000
# An item shows these columns in addition to the columns of a row.
CONTENT = ("details_json", "assumption")
ANSWERS = {Response.Status.APPROVED, Response.Status.REJECTED}


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """Holds a person's choice for one delivery: approved, rejected, or none yet."""

    pk: UUID
    status: str
    content_hash: str
    is_read: bool


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """Shows one output on the page, including everything that the agent sent."""

    row: DeliveryRow
    is_read: bool
    status: str

    @property
    def frame(self) -> str:
        """Returns the id of the frame with the item's details."""
        return f"details-{self.row.delivery.pk}"


@dataclass(frozen=True, slots=True)
class Review:
    """Shows the selected outputs. `others` are selected deliveries that people answer on the
    deliveries' own pages: outputs that this page does not show whole, irreversible ones, and those
    with options but no recommendation."""

    items: list[ReviewItem]
    others: list[DeliveryRow]

    @property
    def read(self) -> int:
        return sum(item.is_read for item in self.items)

    @property
    def not_here(self) -> set[UUID]:
        """Returns deliveries that this person may answer, but not on this page."""
        return {row.delivery.pk for row in self.others if row.may_answer}


def review(
    viewer: Viewer, ids: Sequence[UUID], *, at: datetime, choices: Iterable[ReviewChoice] = ()
) -> Review:
    """Returns the deliveries that still wait, in the order of the selection. Makes two queries, the
    second for the content that fits, and a third if some content has files."""
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


def read_choices(data: QueryDict) -> list[ReviewChoice]:
    """Reads the fields `answer-ID`, `hash-ID` and `read` of the page's form."""
    marked = read_ids(data.getlist("read"))
    return [
        ReviewChoice(
            pk=pk,
            status=status if (status := data.get(f"answer-{pk}", "")) in ANSWERS else "",
            content_hash=data.get(f"hash-{pk}", ""),
            is_read=pk in marked,
        )
        for pk in read_ids(data.getlist("id"))
    ]


def problem(choices: Iterable[ReviewChoice], note: str, viewer: Viewer) -> str:
    """Returns why nothing can be sent yet, or an empty text if the batch can be sent. Makes one
    query, or none if the person has read everything that they approved."""
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
    """Returns the sentence about unread outputs, with the headlines of the first two."""
    own_deliveries = Delivery.objects.for_person(viewer.user).filter(pk__in=unread)
    headlines = dict(own_deliveries.values_list("pk", "headline"))
    names = [f"“{reveal_value(headlines[pk])}”" for pk in unread if pk in headlines]
    if len(names) < 2:
        return f"Mark {names[0] if names else 'the item'} as read before approving it."
    rest = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"Mark {names[0]} and {rest} as read before approving them."


def is_undecided(delivery: Delivery) -> bool:
    """Returns whether the delivery needs a choice before it can be approved. Makes a query if the
    details of the delivery are not loaded. Returns False if the encryption key of the details is
    lost."""
    with suppress(Unreadable):
        return bool(undecided(Original.of(delivery)))
    return False


def _is_whole(delivery: Delivery) -> bool:
    """Returns whether the page shows everything of a loaded delivery, so that it can be approved
    there unchanged."""
    return not in_sight.left_out(delivery) and not is_undecided(delivery)


def _load_content(deliveries: list[Delivery]) -> set[UUID]:
    """Loads the content that fits on the page, and returns the ids of readable deliveries. An
    unreadable delivery does not keep the following deliveries off the page."""
    fitting, together = set(), 0
    for delivery in deliveries:
        size: int = delivery.size  # type: ignore[attr-defined]  # review() adds it
        if size <= MAX_DETAILS and together + size <= MAX_DETAILS_TOGETHER:
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
    """Sets the content of the delivery. Returns False if the content's encryption key is lost."""
    with suppress(Unreadable):
        for column, value in content.items():
            setattr(delivery, column, value)
            getattr(delivery, column)
        return True
    return False


def _item(row: DeliveryRow, chosen: dict[UUID, ReviewChoice]) -> ReviewItem:
    choice = chosen.get(row.delivery.pk)
    return ReviewItem(
        row=row,
        is_read=choice.is_read if choice else row.is_read,
        status=choice.status if choice else "",
    )
