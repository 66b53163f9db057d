"""Says what a way of answering does not show of a delivery. A person approves only what is in
sight (docs/protocol.md, Answering)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db.models import BooleanField, ExpressionWrapper, Q

from inbox.delivery.attachments import files_of
from inbox.rendering import details
from inbox.rendering.json_text import indented
from pages.characters.invisible import reveal
from wake.models import Delivery, DeliveryQuerySet

# A row has room for this at every width. Invisible characters are named, so that 120 characters can
# become a thousand.
LONGEST_HEADLINE = 120
LONGEST_SUMMARY = 160
# A page of several deliveries shows none of the columns here, if they have another value. A row and
# a message do not show those of IS_BARE either. Nothing that may be large is loaded for it.
CAN_BE_SHOWN_TOGETHER = Q(
    callback_webhook="",
    extensions={},
    supersedes__isnull=True,
    irreversible=False,
    is_internal=False,
)
IS_BARE = CAN_BE_SHOWN_TOGETHER & Q(
    details_json__isnull=True, assumption="", thread="", quorum__isnull=True
)


def with_can_be_shown_together(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Adds `can_be_shown_together`: whether a page of several can show all but details."""
    return rows.annotate(
        can_be_shown_together=ExpressionWrapper(CAN_BE_SHOWN_TOGETHER, output_field=BooleanField())
    )


def with_is_bare(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Adds `is_bare`: whether headline and summary are all that there is to read."""
    return rows.annotate(is_bare=ExpressionWrapper(IS_BARE, output_field=BooleanField()))


def is_bare(delivery: Delivery) -> bool:
    """Makes a query, unless the delivery was loaded `with_is_bare`."""
    if not hasattr(delivery, "is_bare"):
        return Delivery.objects.filter(IS_BARE, pk=delivery.pk).exists()
    return bool(delivery.is_bare)


def is_short(delivery: Delivery) -> bool:
    """Returns whether a row has room for the whole headline and the whole summary."""
    return (
        len(reveal(delivery.headline)) <= LONGEST_HEADLINE
        and len(reveal(delivery.summary)) <= LONGEST_SUMMARY
    )


def is_whole_in_a_row(delivery: Delivery) -> bool:
    """Returns whether a row of the list shows everything that the agent sent."""
    return is_short(delivery) and is_bare(delivery)


def view_in(query: Mapping[str, str]) -> str:
    """Returns the view of the details that a page was asked for; empty for the usual one."""
    view = query.get("details", "")
    return view if view in {details.RAW, details.FORMATTED} else ""


def left_out(
    delivery: Delivery, *, asked_for: str = "", inputs_apart: bool = False
) -> tuple[str, ...]:
    """Returns what the page does not show of the details, in plain phrases. `asked_for` is the view
    that the reader chose (inbox/rendering/details.py)."""
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
    """Returns the fields of the delivery that the protocol does not know, as JSON with one member a
    line; empty if there are none."""
    if not delivery.extensions:
        return ""
    return reveal(indented(json.dumps(delivery.extensions, ensure_ascii=False)))
