"""Says when a channel sends the digest, and what the digest says."""

from __future__ import annotations

from copy import copy
from datetime import datetime, timedelta

from accounts.models import User
from inbox.models import Event, NotificationRule, Preferences
from inbox.notifications.digest_times import next_digest
from inbox.notifications.waiting import COUNT_UP_TO, Group, waiting_for
from inbox.people.settings.preferences import preferences_of
from pages.local_time import zone_of

A_DAY = timedelta(days=1)


def next_digest_of(rule: NotificationRule, *, after: datetime) -> datetime | None:
    """Returns when the digest is due: when that by mail would be, or daily if none is mailed. None
    if the channel sends none."""
    user = rule.channel.user
    if user is None or Event.DIGEST not in rule.events:
        return None
    preferences = copy(preferences_of(user))
    if preferences.digest == Preferences.Digest.NEVER:
        preferences.digest = Preferences.Digest.DAILY
    return next_digest(preferences, zone_of(user), after=after)


def digest_text(user: User, *, at: datetime) -> str:
    """Returns `4 deliveries need you, 1 deadline within a day`; empty if nothing waits."""
    waiting = waiting_for(user, at=at, until=at + A_DAY)
    parts = [
        _count(waiting.needs_you, "delivery needs you", "deliveries need you"),
        _count(waiting.closing, "deadline within a day", "deadlines within a day"),
        _count(waiting.informs, "update to read", "updates to read"),
    ]
    return ", ".join(part for part in parts if part)


def _count(group: Group, one: str, many: str) -> str:
    if not group.count:
        return ""
    if group.count > COUNT_UP_TO:
        return f"More than {COUNT_UP_TO} {many}"
    return f"{group.count} {one if group.count == 1 else many}"
