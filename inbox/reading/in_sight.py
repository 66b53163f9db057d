"""Computes which parts of a delivery are not shown in the place where a person answers, and whether
the person has opened the delivery's page. A person approves only what is in sight
(docs/protocol.md, Answering)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q

from accounts.models import User
from inbox.models import Reading
from inbox.reading.attachments import files_of
from inbox.rendering import details
from inbox.rendering.json_text import indented
from pages.characters.invisible import reveal, reveal_value
from wake.models import Delivery, DeliveryQuerySet

# A row has room for this many characters at every width. Invisible characters are shown by name, so
# 120 characters can become a thousand.
LONGEST_HEADLINE = 120
LONGEST_SUMMARY = 160
# A page of several deliveries does not show these columns, so each column must have the value given
# here. Rows and messages do not show the columns of IS_BARE either. Checking the condition loads no
# large column.
CAN_BE_SHOWN_TOGETHER = Q(
    callback_webhook="",
    extensions={},
    supersedes__isnull=True,
    irreversible=False,
    needs_signature=False,
    is_internal=False,
)
IS_BARE = CAN_BE_SHOWN_TOGETHER & Q(
    details_json__isnull=True,
    assumption="",
    thread="",
    quorum__isnull=True,
    claim_within_seconds__isnull=True,
)


def with_can_be_shown_together(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Adds `can_be_shown_together`: whether a page of several deliveries can show everything except
    the details."""
    return rows.annotate(
        can_be_shown_together=ExpressionWrapper(CAN_BE_SHOWN_TOGETHER, output_field=BooleanField())
    )


def with_is_bare(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Adds `is_bare`: whether a delivery has nothing to read besides its headline and summary."""
    return rows.annotate(is_bare=ExpressionWrapper(IS_BARE, output_field=BooleanField()))


def is_bare(delivery: Delivery) -> bool:
    """Returns whether there is nothing to read besides headline and summary. Makes a query, unless
    the delivery was loaded `with_is_bare`."""
    if not hasattr(delivery, "is_bare"):
        return Delivery.objects.filter(IS_BARE, pk=delivery.pk).exists()
    return bool(delivery.is_bare)


def is_short(delivery: Delivery) -> bool:
    """Returns whether a row has room for the whole headline and the whole summary."""
    return (
        len(reveal_value(delivery.headline)) <= LONGEST_HEADLINE
        and len(reveal_value(delivery.summary)) <= LONGEST_SUMMARY
    )


def is_whole_in_a_row(delivery: Delivery) -> bool:
    """Returns whether a row of the list shows everything that the agent sent."""
    return is_short(delivery) and is_bare(delivery)


def view_in(query: Mapping[str, str]) -> str:
    """Returns the requested view of the details, or an empty text for the usual one."""
    view = query.get("details", "")
    return view if view in {details.RAW, details.FORMATTED} else ""


def left_out(
    delivery: Delivery, *, asked_for: str = "", inputs_apart: bool = False
) -> tuple[str, ...]:
    """Returns the parts of the details that the page does not show, in plain phrases. `asked_for`
    is the view that the reader chose (inbox/rendering/details.py)."""
    rendered = details.render(
        delivery.details_json,
        asked_for=asked_for,
        inputs_apart=inputs_apart,
        files=files_of(delivery),
    )
    if rendered is None:
        return ()
    return rendered.left_out


def other_fields(delivery: Delivery) -> str:
    """Returns the fields of the delivery that the protocol does not know, as JSON with one member
    on each line, or an empty text if there are none."""
    if not delivery.extensions:
        return ""
    return reveal(indented(json.dumps(delivery.extensions, ensure_ascii=False)))


def first_opened(ids: Collection[UUID], *, by: User) -> dict[UUID, datetime]:
    """Returns when this person first opened each delivery. Leaves out deliveries that this person
    did not open. A delivery that was marked as unread stays opened."""
    own = Reading.objects.filter(user=by, delivery__in=ids)
    return dict(own.values_list("delivery", "opened_at"))
