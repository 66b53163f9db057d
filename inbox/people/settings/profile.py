"""Changes a person's name and time zone, and audits each change."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.audit import person, record
from accounts.models import User
from inbox.people.settings.preferences import change_preferences


@transaction.atomic
def change_profile(
    user: User, *, display_name: str, time_zone: str, at: datetime, address: str = ""
) -> None:
    """Stores what changed; a new time zone moves the next digest."""
    wanted = {"display_name": display_name, "time_zone": time_zone}
    changed = {name: value for name, value in wanted.items() if getattr(user, name) != value}
    if not changed:
        return
    record("person.changed", by=person(user, address), of=user, team=None, at=at, **changed)
    User.objects.filter(pk=user.pk).update(**changed)
    for name, value in changed.items():
        setattr(user, name, value)
    if "time_zone" in changed:
        change_preferences(user, at=at)
