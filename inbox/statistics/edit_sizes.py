"""How much of what an agent sent people changed before they sent it back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import median

from accounts.encryption import Unreadable
from inbox.changes import share_changed
from inbox.edits import Original, as_typed
from wake.models import Delivery, DeliveryQuerySet
from wake.models.content import length_of

MOST_EDITS = 50
COMPARED_AT_ONCE = 40_000
EACH_SECONDS = 0.005
ALL_SECONDS = 0.25  # fifty long ones would take more than a second


def newest_edits(answered: DeliveryQuerySet) -> list[Delivery]:
    """With their answers; without those too long to be compared unasked. Index:
    answers_of_an_agent."""
    length = length_of("details_json") + length_of("response__edited_json")
    edited = answered.filter(response__edited_json__isnull=False).alias(length=length)
    short = edited.filter(length__lte=COMPARED_AT_ONCE).select_related("response")
    shown = short.only("details_json", "response__edited_json", "response__delivery")
    return list(shown.order_by("-activity_at")[:MOST_EDITS])


def shares(edits: Iterable[Delivery], *, budget: float = ALL_SECONDS) -> list[float]:
    """From 0 to 1 of each that can be read, as far as the time reaches."""
    stop_at = time.monotonic() + budget
    found: list[float] = []
    for delivery in edits:
        if time.monotonic() > stop_at:
            break
        try:
            found.append(_share(delivery))
        except Unreadable:
            continue
    return found


def half_within(found: list[float]) -> int | None:
    """The median in percent."""
    return round(100 * median(found)) if found else None


def _share(delivery: Delivery) -> float:
    before = as_typed(Original.of(delivery).json)
    return share_changed(before, as_typed(delivery.response.edited_json), budget=EACH_SECONDS)
