"""Sends each person their due digest. The row is the queue, and a claim moves its due time.

Mail is sent without a lock, because a mail server may be slow. If the worker dies meanwhile, the
row is due again when its lease ends. So a digest may arrive twice, but never gets lost.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from database import sweeps
from database.clock import database_now
from inbox.models import Preferences
from inbox.notifications import mail
from inbox.notifications.waiting import Waiting, waiting_for
from inbox.preferences.digest_times import next_digest
from pages.local_time import zone_of
from pages.mail import NotTaken, ServerAway

PLAN_AT_ONCE = 500
DRAIN_SECONDS = 30.0
# Longer than a mail server may take (EMAIL_TIMEOUT a step).
LEASE = sweeps.Lease("next_digest_at", timedelta(minutes=10))
BACK_OFF = [timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180)]
DAY = timedelta(days=1)
FAILED_HERE = "Something went wrong on our side."


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Plans digests that have no time yet, then sends due ones for at most half a minute; returns
    how many were sent. While the mail server does not answer, each sweep makes only one attempt, so
    that the worker has time for other jobs."""
    if not settings.WAKE_SENDS_MAIL:
        return 0
    plan(at=clock())
    return sweeps.sweep_leased(
        due,
        lambda claimed: _send(claimed, at=clock()),
        lease=LEASE,
        what="digests",
        clock=clock,
        postpone=lambda claimed: _postpone(claimed, FAILED_HERE, at=clock()),
        stop_on=(ServerAway,),
        seconds=DRAIN_SECONDS,
    )


@transaction.atomic
def plan(*, at: datetime) -> None:
    """Creates default preferences for people without any, and sets when each wanted digest is
    due."""
    new = User.objects.filter(is_active=True, preferences__isnull=True)[:PLAN_AT_ONCE]
    Preferences.objects.bulk_create([Preferences(user=user) for user in new], ignore_conflicts=True)
    rows = Preferences.objects.without_a_plan().select_related("user")[:PLAN_AT_ONCE]
    unplanned = list(rows.select_for_update(skip_locked=True, of=("self",)))
    for row in unplanned:
        row.next_digest_at = next_digest(row, zone_of(row.user), after=at)
    Preferences.objects.bulk_update(unplanned, ["next_digest_at"])


def due(at: datetime) -> QuerySet[Preferences]:
    return Preferences.objects.digests_due(at).select_related("user")


def _send(claimed: Preferences, *, at: datetime) -> bool:
    """Returns whether a mail was sent; raises ServerAway."""
    zone = zone_of(claimed.user)
    quiet_ends = claimed.after_quiet_hours(at, zone)
    if quiet_ends != at:
        _settle(claimed, next_digest_at=quiet_ends)
        return False
    following = next_digest(claimed, zone, after=at)
    try:
        is_sent = _send_if_anything_waits(claimed, at=at, until=following or at + DAY)
    except NotTaken as error:
        _postpone(claimed, str(error), at=at)
        if isinstance(error, ServerAway):
            raise
        return False
    sent_at = at if is_sent else claimed.digest_sent_at
    _settle(
        claimed,
        next_digest_at=following,
        digest_sent_at=sent_at,
        digest_failures=0,
        digest_error="",
    )
    return is_sent


def _send_if_anything_waits(claimed: Preferences, *, at: datetime, until: datetime) -> bool:
    waiting = waiting_for(claimed.user, at=at, until=until)
    if waiting.is_nothing or _is_repetition(claimed, waiting):
        return False
    mail.send_digest(claimed, waiting, at=at)
    return True


def _is_repetition(claimed: Preferences, waiting: Waiting) -> bool:
    """Returns whether a frequent digest would repeat the last one. A daily digest is a reminder, so
    it may repeat."""
    is_often = claimed.digest == Preferences.Digest.HOURS
    return is_often and not waiting.has_news(since=claimed.digest_sent_at)


def _postpone(claimed: Preferences, error: str, *, at: datetime) -> None:
    """Tries again soon at first, then less often, then at the next regular time."""
    failures = claimed.digest_failures
    if failures < len(BACK_OFF):
        again: datetime | None = at + BACK_OFF[failures]
    else:
        again = next_digest(claimed, zone_of(claimed.user), after=at)
    _settle(
        claimed,
        next_digest_at=again,
        digest_failures=min(failures + 1, len(BACK_OFF)),
        digest_error=error[:200],
    )


def _settle(claimed: Preferences, **fields: Any) -> None:
    LEASE.held(claimed).update(**fields)
