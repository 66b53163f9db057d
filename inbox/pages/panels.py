"""What the apps above the inbox add to its pages; which they are, settings.WAKE_PANELS says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.models import User


@dataclass(frozen=True, slots=True)
class Panel:
    """The template sees `shown` as `panel`, and `now`."""

    template: str
    shown: Mapping[str, Any]


def panels(page: str, thing: Any, *, user: User, at: datetime) -> list[Panel]:
    """Of the page of one thing, in the order of the setting: each function there takes what this
    one takes, but for the name of the page, and returns a panel, or None where it has nothing to
    say."""
    functions = map(import_string, settings.WAKE_PANELS.get(page, ()))
    made = [function(thing, user=user, at=at) for function in functions]
    return [panel for panel in made if panel is not None]
