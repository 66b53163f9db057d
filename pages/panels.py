"""Adds panels of higher apps to the inbox's pages, in the order of settings.WAKE_PANELS."""

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
    """Holds one panel. The panel's template gets `context` under the name `panel`, and `now`."""

    template: str
    context: Mapping[str, Any]


def status_of(slot: str, subject: Any) -> str:
    """Returns the text of the first function in this setting that has a text for this object, or an
    empty text if no function has one."""
    functions = map(import_string, settings.WAKE_PANELS.get(slot, ()))
    return next((text for function in functions if (text := function(subject))), "")


def panels(page: str, subject: Any, *, user: Any, at: datetime) -> list[Panel]:
    """Returns the panels of a page about one object, in the order of the setting. Each function in
    the setting has the same arguments, except `page`, and returns a panel or None."""
    functions = map(import_string, settings.WAKE_PANELS.get(page, ()))
    results = [function(subject, user=user, at=at) for function in functions]
    return [panel for panel in results if panel is not None]


def notes(slot: str, objects: Collection[Any], *, at: datetime) -> dict[UUID, str]:
    """Returns the notes about objects in a list, by their ids, from the functions in this
    setting."""
    functions = map(import_string, settings.WAKE_PANELS.get(slot, ()))
    return {pk: note for function in functions for pk, note in function(objects, at=at).items()}
