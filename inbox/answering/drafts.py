"""Words that a person has not sent yet."""

from __future__ import annotations

from django.db.models import F, FilteredRelation, Q

from accounts.models import User
from wake.models import Delivery, DeliveryQuerySet, Draft

COLUMNS = {"draft_feedback": "feedback", "draft_edited_json": "edited_json", "draft_at": "saved_at"}


def with_draft(rows: DeliveryQuerySet, user: User) -> DeliveryQuerySet:
    """Theirs alone, read together with the delivery; nobody sees another person's draft."""
    mine = rows.annotate(mine=FilteredRelation("drafts", condition=Q(drafts__user=user)))
    return mine.annotate(**{name: F(f"mine__{column}") for name, column in COLUMNS.items()})


def draft_of(delivery: Delivery, user: User) -> Draft | None:
    """Of a delivery that was read `with_draft` of this person."""
    found = {column: getattr(delivery, name) for name, column in COLUMNS.items()}
    if found["saved_at"] is None:
        return None
    return Draft(delivery=delivery, user=user, **found)
