"""Reads and changes a person's preferences."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.models import User
from inbox.models import Preferences
from inbox.preferences.digest_times import next_digest
from pages.local_time import zone_of


def preferences_of(user: User) -> Preferences:
    """Returns the row, or the defaults if there is no row yet."""
    try:
        return user.preferences
    except Preferences.DoesNotExist:
        return Preferences(user=user)


def opens_next(user: User) -> bool:
    """Returns whether the next delivery opens after an answer."""
    return preferences_of(user).after_answer == Preferences.AfterAnswer.NEXT


@transaction.atomic
def change_preferences(user: User, *, at: datetime, **fields: Any) -> Preferences:
    """Stores these fields. Plans the next digest again, because the digest's times, the quiet hours
    or the time zone may have changed."""
    Preferences.objects.get_or_create(user=user)
    row = Preferences.objects.select_for_update().get(user=user)
    for name, value in fields.items():
        setattr(row, name, value)
    row.next_digest_at = next_digest(row, zone_of(user), after=at)
    row.digest_failures, row.digest_error = 0, ""
    row.save()
    return row
