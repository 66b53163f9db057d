"""Measures how much of an agent's content people changed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import median

from database.encrypted_columns import length_of
from database.encryption import Unreadable
from inbox.answering.editing.edits import Original
from inbox.rendering.diffs.step_budget import StepBudget
from inbox.rendering.diffs.word_diffs import share_changed
from inbox.rendering.json_text import as_typed
from wake.models import Delivery, DeliveryQuerySet

MAX_EDITS = 50
COMPARED_AT_ONCE = 40_000
EACH_STEPS = 10_000
ALL_SECONDS = 0.25  # comparing fifty long edits would take more than a second


def newest_edits(answered: DeliveryQuerySet) -> list[Delivery]:
    """Returns the newest edits with their answers. Leaves out edits that are too long to compare.
    Index: answers_of_an_agent."""
    length = length_of("details_json") + length_of("response__edited_json")
    edited = answered.filter(response__edited_json__isnull=False).alias(length=length)
    short = edited.filter(length__lte=COMPARED_AT_ONCE).select_related("response")
    comparable = short.only("details_json", "response__edited_json", "response__delivery")
    return list(comparable.order_by("-activity_at")[:MAX_EDITS])


def shares(edits: Iterable[Delivery], *, budget: float = ALL_SECONDS) -> list[float]:
    """Returns the changed share of each readable edit, from 0 to 1, within the time budget."""
    stop_at = time.monotonic() + budget
    shares_changed: list[float] = []
    for delivery in edits:
        if time.monotonic() > stop_at:
            break
        try:
            shares_changed.append(_share(delivery))
        except Unreadable:
            continue
    return shares_changed


def half_within(shares_changed: list[float]) -> int | None:
    """Returns the median in percent."""
    return round(100 * median(shares_changed)) if shares_changed else None


def _share(delivery: Delivery) -> float:
    before = as_typed(Original.of(delivery).json)
    after = as_typed(delivery.response.edited_json)
    return share_changed(before, after, budget=StepBudget(EACH_STEPS))
