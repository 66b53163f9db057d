"""Stores named searches, which a person pins at the head of their inbox.

Saved views are stored in the row of the person's preferences. Every page loads that row, so a list
needs no further query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.models import User
from inbox.models import Preferences
from inbox.preferences.preferences import preferences_of
from inbox.search.query_language import read

MAX_VIEWS = 12
LONGEST_NAME = 40


class TooManyViews(Exception):
    """You have 12 saved views, which is the most. Remove one first."""


@dataclass(frozen=True, slots=True)
class SavedView:
    """Names a search; `text` is the text for the search box."""

    name: str
    text: str

    @property
    def query(self) -> str:
        """Returns the text in the present syntax of the search box."""
        return str(read(self.text))


def views_of(user: User) -> list[SavedView]:
    """Returns the views in the order in which they were saved."""
    return [SavedView(**stored) for stored in preferences_of(user).saved_views or []]


def save_view(user: User, *, name: str, text: str) -> None:
    """Saves a view. If a view has the same name, the new view replaces it and keeps its position.
    Raises TooManyViews."""
    with transaction.atomic():
        preferences = _locked(user)
        views = {stored["name"]: stored["text"] for stored in preferences.saved_views or []}
        views[name] = text
        if len(views) > MAX_VIEWS:
            raise TooManyViews(TooManyViews.__doc__)
        _store(preferences, [{"name": name, "text": text} for name, text in views.items()])


def remove_view(user: User, *, name: str) -> None:
    with transaction.atomic():
        preferences = _locked(user)
        views = preferences.saved_views or []
        _store(preferences, [stored for stored in views if stored["name"] != name])


def _locked(user: User) -> Preferences:
    Preferences.objects.get_or_create(user=user)
    return Preferences.objects.select_for_update().get(user=user)


def _store(preferences: Preferences, views: list[dict[str, Any]]) -> None:
    preferences.saved_views = views
    preferences.save(update_fields=["saved_views"])
