"""Reads and changes a person's preferences."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db import transaction

from accounts.models import User
from accounts.sign_in import second_factor
from database.compiled_queries import CompiledQuery, parameter
from inbox.models import Preferences
from inbox.notifications.digest_times import next_digest
from pages.local_time import zone_of


class WithPreferences(ModelBackend):
    """Loads the person who is signed in with their preferences, and whether they must set up a
    second factor first, because every page needs all of it."""

    def get_user(self, user_id: Any) -> User | None:
        users: list[User] = _person().objects(pk=user_id)
        return users[0] if users and self.user_can_authenticate(users[0]) else None


@cache
def _person() -> CompiledQuery:
    users = User.objects.select_related("preferences").filter(pk=parameter("pk", User, "id"))
    return CompiledQuery(lambda: second_factor.with_owed(users))


def preferences_of(user: User) -> Preferences:
    """Returns the row, or the defaults if there is none yet."""
    try:
        return user.preferences
    except Preferences.DoesNotExist:
        return Preferences(user=user)


def opens_next(user: User) -> bool:
    """Returns whether the next delivery opens after an answer."""
    return preferences_of(user).after_answer == Preferences.AfterAnswer.NEXT


@transaction.atomic
def change_preferences(user: User, *, at: datetime, **fields: Any) -> Preferences:
    """Stores these fields and plans the next digest again, because its times, the quiet hours or
    the time zone may have changed."""
    Preferences.objects.get_or_create(user=user)
    row = Preferences.objects.select_for_update().get(user=user)
    for name, value in fields.items():
        setattr(row, name, value)
    row.next_digest_at = next_digest(row, zone_of(user), after=at)
    row.digest_failures, row.digest_error = 0, ""
    row.save()
    return row
