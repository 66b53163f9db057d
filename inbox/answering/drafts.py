"""Reads the drafts of answers that a person has not sent yet."""

from __future__ import annotations

from typing import Any

from django.db.models import F, FilteredRelation, Q

from accounts.models import User
from wake.models import Delivery, DeliveryQuerySet, Draft

COLUMNS = {"draft_feedback": "feedback", "draft_edited_json": "edited_json", "draft_at": "saved_at"}


def with_draft(rows: DeliveryQuerySet, user: Any) -> DeliveryQuerySet:
    """Adds this person's own draft to each delivery; drafts of other people are never read."""
    own_drafts = rows.annotate(mine=FilteredRelation("drafts", condition=Q(drafts__user=user)))
    return own_drafts.annotate(**{name: F(f"mine__{column}") for name, column in COLUMNS.items()})


def draft_of(delivery: Delivery, user: User) -> Draft | None:
    """Returns the draft of a delivery that was loaded `with_draft` of this person."""
    columns = {column: getattr(delivery, name) for name, column in COLUMNS.items()}
    if columns["saved_at"] is None:
        return None
    return Draft(delivery=delivery, user=user, **columns)
