"""Reads the unsent drafts of answers, and keeps answers that are not signed yet."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, FilteredRelation, Q

from accounts.models import User
from wake.models import Delivery, DeliveryQuerySet, Draft

COLUMNS = {"draft_feedback": "feedback", "draft_edited_json": "edited_json", "draft_at": "saved_at"}


def with_draft(rows: DeliveryQuerySet, user: Any) -> DeliveryQuerySet:
    """Adds this person's own draft to each delivery. Drafts of other people are never read."""
    own_drafts = rows.annotate(mine=FilteredRelation("drafts", condition=Q(drafts__user=user)))
    return own_drafts.annotate(**{name: F(f"mine__{column}") for name, column in COLUMNS.items()})


def draft_of(delivery: Delivery, user: User) -> Draft | None:
    """Returns the draft of a delivery that was loaded `with_draft` of this person."""
    columns = {column: getattr(delivery, name) for name, column in COLUMNS.items()}
    if columns["saved_at"] is None:
        return None
    return Draft(delivery=delivery, user=user, **columns)


@transaction.atomic
def keep_unsigned(
    delivery: Delivery, user: User, *, feedback: str, edited_json: str | None, at: datetime
) -> None:
    """Saves an answer that waits for the person's passkey as the person's draft, so that the person
    can continue on another device. Saves nothing without words or an edit, or if retention has
    erased the content meanwhile."""
    delivery = Delivery.objects.select_for_update(of=("self",)).get(pk=delivery.pk)
    earlier = Draft.objects.filter(delivery=delivery, user=user).exists()
    if delivery.erased_at is None and (feedback or edited_json or earlier):
        Draft.objects.keep(delivery, user, feedback=feedback, edited_json=edited_json, at=at)
