"""Changes a person's name and time zone, and records each change in the audit. The browser's time
zone is adopted once, if the person has not chosen one."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import transaction

from accounts.audit import person, record
from accounts.models import User
from accounts.people import signals
from accounts.people.time_zones import CONTINENTS

UTC = "UTC"
LONGEST_NAME = 64


@transaction.atomic
def change_profile(
    user: User, *, display_name: str, time_zone: str, at: datetime, address: str = ""
) -> None:
    """Stores the changes. A new time zone moves the next digest."""
    User.objects.filter(pk=user.pk, time_zone_chosen_at=None).update(time_zone_chosen_at=at)
    wanted = {"display_name": display_name, "time_zone": time_zone}
    changed = {name: value for name, value in wanted.items() if getattr(user, name) != value}
    if not changed:
        return
    _store(user, changed, at=at, address=address)


def adopt_time_zone(user: User, name: str, *, at: datetime, address: str = "") -> bool:
    """Adopts the time zone of the person's browser; returns whether it did. Changes nothing if the
    person has chosen a time zone, if theirs is not UTC, or if the browser's time zone does not
    exist."""
    is_open = user.time_zone == UTC and user.time_zone_chosen_at is None
    if not is_open or not _is_place(name):
        return False
    _store(user, {"time_zone": name}, at=at, address=address)
    return True


@transaction.atomic
def _store(user: User, changed: dict[str, str], *, at: datetime, address: str) -> None:
    record("person.changed", by=person(user, address), of=user, team=None, at=at, **changed)
    User.objects.filter(pk=user.pk).update(**changed)
    for name, value in changed.items():
        setattr(user, name, value)
    if "time_zone" in changed:
        signals.time_zone_changed.send(sender=User, user=user, at=at)


def _is_place(name: str) -> bool:
    """Returns whether a person could choose this name, such as Europe/Berlin."""
    if name.partition("/")[0] not in CONTINENTS or len(name) > LONGEST_NAME:
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
