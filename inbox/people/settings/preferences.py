"""What a person prefers, and the one place where it is changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db import transaction

from accounts.models import User
from inbox.digest_times import next_digest
from inbox.models import Preferences
from inbox.own_clock import zone_of


class WithPreferences(ModelBackend):
    """Loads who is signed in together with what they prefer: every page asks for both."""

    def get_user(self, user_id: Any) -> User | None:
        user = User.objects.select_related("preferences").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def preferences_of(user: User) -> Preferences:
    """The row, or the defaults where there is none yet."""
    try:
        return user.preferences
    except Preferences.DoesNotExist:
        return Preferences(user=user)


@transaction.atomic
def change_preferences(user: User, *, at: datetime, **fields: Any) -> Preferences:
    """Stores these fields and plans the next digest anew: its hours, the quiet ones or the time
    zone may be other than they were."""
    Preferences.objects.get_or_create(user=user)
    row = Preferences.objects.select_for_update().get(user=user)
    for name, value in fields.items():
        setattr(row, name, value)
    row.next_digest_at = next_digest(row, zone_of(user), after=at)
    row.digest_failures, row.digest_error = 0, ""
    row.save()
    return row
