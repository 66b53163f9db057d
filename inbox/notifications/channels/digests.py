"""Decides when a channel sends the digest, and writes its text."""

from __future__ import annotations

from copy import copy
from datetime import datetime, timedelta

from accounts.models import User
from inbox.models import ChannelEvent, NotificationRule, Preferences
from inbox.notifications.waiting import COUNT_UP_TO, WaitingDeliveries, waiting_for
from inbox.preferences.digest_times import next_digest
from inbox.preferences.preferences import preferences_of
from pages.local_time import zone_of

A_DAY = timedelta(days=1)


def next_digest_of(rule: NotificationRule, *, after: datetime) -> datetime | None:
    """Returns when the digest is due: at the time of the person's digest by mail, or daily if the
    person gets no digest by mail. Returns None if the channel sends no digest."""
    user = rule.channel.user
    if user is None or ChannelEvent.DIGEST not in rule.events:
        return None
    preferences = copy(preferences_of(user))
    if preferences.digest == Preferences.Digest.NEVER:
        preferences.digest = Preferences.Digest.DAILY
    return next_digest(preferences, zone_of(user), after=after)


def digest_text(user: User, *, at: datetime) -> str:
    """Returns `4 deliveries need you, 1 deadline within a day`, or an empty text if nothing
    waits."""
    waiting = waiting_for(user, at=at, until=at + A_DAY)
    parts = [
        _count(waiting.needs_you, "delivery needs you", "deliveries need you"),
        _count(waiting.closing, "deadline within a day", "deadlines within a day"),
        _count(waiting.informs, "update to read", "updates to read"),
    ]
    return ", ".join(part for part in parts if part)


def _count(group: WaitingDeliveries, one: str, many: str) -> str:
    if not group.count:
        return ""
    if group.count > COUNT_UP_TO:
        return f"More than {COUNT_UP_TO} {many}"
    return f"{group.count} {one if group.count == 1 else many}"
