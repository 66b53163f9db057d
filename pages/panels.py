"""Adds panels of higher apps to the inbox's pages, as settings.WAKE_PANELS names them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string


@dataclass(frozen=True, slots=True)
class Panel:
    """Holds one panel. Its template gets `context` as `panel`, and `now`."""

    template: str
    context: Mapping[str, Any]


def status_of(slot: str, subject: Any) -> str:
    """Returns the text of the first function of this setting that has one for this object; empty if
    none has."""
    functions = map(import_string, settings.WAKE_PANELS.get(slot, ()))
    return next((text for function in functions if (text := function(subject))), "")


def panels(page: str, subject: Any, *, user: Any, at: datetime) -> list[Panel]:
    """Returns the panels of the page about one object, in the order of the setting. Each function
    named there takes the arguments of this one except `page`, and returns a panel or None."""
    functions = map(import_string, settings.WAKE_PANELS.get(page, ()))
    results = [function(subject, user=user, at=at) for function in functions]
    return [panel for panel in results if panel is not None]


def notes(slot: str, objects: Collection[Any], *, at: datetime) -> dict[UUID, str]:
    """Returns the notes of the functions of this setting about objects in a list, by their ids."""
    functions = map(import_string, settings.WAKE_PANELS.get(slot, ()))
    return {pk: note for function in functions for pk, note in function(objects, at=at).items()}
