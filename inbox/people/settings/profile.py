"""How a person is called and where their clock is: each change is in the audit."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.audit import person, record
from accounts.models import User
from inbox.preferences import change_preferences


@transaction.atomic
def change_profile(
    user: User, *, display_name: str, time_zone: str, at: datetime, address: str = ""
) -> None:
    """Their next digest moves with their clock."""
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
