"""Adds panels of higher apps to the inbox's pages, as settings.WAKE_PANELS names them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.models import User


@dataclass(frozen=True, slots=True)
class Panel:
    """The template gets `context` as `panel`, and `now`."""

    template: str
    context: Mapping[str, Any]


def words(place: str, thing: Any) -> str:
    """Returns what the first of the functions of this setting says of a thing; empty if none
    does."""
    functions = map(import_string, settings.WAKE_PANELS.get(place, ()))
    return next((text for function in functions if (text := function(thing))), "")


def panels(page: str, thing: Any, *, user: User, at: datetime) -> list[Panel]:
    """Returns the panels of the page about one thing, in the order of the setting. Each function
    named there takes the arguments of this one except `page`, and returns a panel or None."""
    functions = map(import_string, settings.WAKE_PANELS.get(page, ()))

    results = [function(thing, user=user, at=at) for function in functions]
    return [panel for panel in results if panel is not None]


def notes(place: str, things: Collection[Any], *, at: datetime) -> dict[UUID, str]:
    """Returns what the functions of this setting say of things in a list, by their ids."""
    functions = map(import_string, settings.WAKE_PANELS.get(place, ()))
    return {pk: note for function in functions for pk, note in function(things, at=at).items()}
