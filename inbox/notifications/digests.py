"""Sends each person the digest that is due: the row is the queue, and a claim puts it off.

Mail is sent with nothing locked, because a mail server may take its time. Who dies meanwhile leaves
a row that is due again when its lease runs out: a digest may come twice, never not at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import User
from inbox import mail
from inbox.digest_times import next_digest
from inbox.models import Preferences
from inbox.own_clock import zone_of
from inbox.quiet_hours import after_quiet
from inbox.waiting import Waiting, waiting_for
from wake.clock import database_now

log = logging.getLogger(__name__)

PLAN_AT_ONCE = 500
DRAIN_SECONDS = 30.0
LEASE = timedelta(minutes=10)  # more than a mail server may take (EMAIL_TIMEOUT a step)
BACK_OFF = [timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180)]
DAY = timedelta(days=1)


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Plans what has no plan yet, then sends what is due, for half a minute at most; returns how
    many were sent. A mail server that is away costs one try a sweep, so that it keeps no worker
    from other jobs."""
    if not settings.WAKE_SENDS_MAIL:
        return 0
    plan(at=clock())
    stop = time.monotonic() + DRAIN_SECONDS
    sent = 0
    with suppress(mail.ServerAway):
        while time.monotonic() < stop and (claimed := claim(at=clock())) is not None:
            sent += _send(claimed, at=clock())
    return sent


@transaction.atomic
def plan(*, at: datetime) -> None:
    """Gives whoever has no preferences yet the usual ones, and every digest that is wanted a time
    at which it is due."""
    new = User.objects.filter(is_active=True, preferences__isnull=True)[:PLAN_AT_ONCE]
    Preferences.objects.bulk_create([Preferences(user=user) for user in new], ignore_conflicts=True)
    rows = Preferences.objects.without_a_plan().select_related("user")[:PLAN_AT_ONCE]
    unplanned = list(rows.select_for_update(skip_locked=True, of=("self",)))
    for row in unplanned:
        row.next_digest_at = next_digest(row, zone_of(row.user), after=at)
    Preferences.objects.bulk_update(unplanned, ["next_digest_at"])


@transaction.atomic
def claim(*, at: datetime) -> Preferences | None:
    """One that is due, for this caller alone until its lease runs out; `next_digest_at` of what is
    returned is the lease."""
    due = Preferences.objects.digests_due(at).select_related("user")
    row = due.select_for_update(skip_locked=True, of=("self",)).first()
    if row is not None:
        row.next_digest_at = at + LEASE
        row.save(update_fields=["next_digest_at"])
    return row


def _send(claimed: Preferences, *, at: datetime) -> bool:
    """Whether something left. What goes wrong with one keeps none of the others back; raises
    ServerAway."""
    zone = zone_of(claimed.user)
    awake = after_quiet(claimed, zone, at=at)
    if awake != at:
        _settle(claimed, next_digest_at=awake)
        return False
    following = next_digest(claimed, zone, after=at)
    try:
        is_sent = _send_what_waits(claimed, at=at, until=following or at + DAY)
    except mail.NotTaken as error:
        _put_off(claimed, str(error), following, at=at)
        if isinstance(error, mail.ServerAway):
            raise
        return False
    except Exception:
        log.exception("The digest of person %s cannot be made", claimed.pk)
        _put_off(claimed, "Something failed on our side.", following, at=at)
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


def _send_what_waits(claimed: Preferences, *, at: datetime, until: datetime) -> bool:
    waiting = waiting_for(claimed.user, at=at, until=until)
    if waiting.is_nothing or _was_told(claimed, waiting):
        return False
    mail.send_digest(claimed, waiting, at=at)
    return True


def _was_told(claimed: Preferences, waiting: Waiting) -> bool:
    """Every few hours the same again would be nagging; once a day it is a reminder."""
    is_often = claimed.digest == Preferences.Digest.HOURS
    return is_often and not waiting.has_news(since=claimed.digest_sent_at)


def _put_off(claimed: Preferences, error: str, following: datetime | None, *, at: datetime) -> None:
    """Soon at first, then less often, then at the next regular time."""
    failures = claimed.digest_failures
    again = at + BACK_OFF[failures] if failures < len(BACK_OFF) else following
    _settle(
        claimed,
        next_digest_at=again,
        digest_failures=min(failures + 1, len(BACK_OFF)),
        digest_error=error[:200],
    )


def _settle(claimed: Preferences, **fields: Any) -> None:
    """Where the lease is no longer ours, because it ran out or the person chose other hours
    meanwhile, the row stays as they made it."""
    lease = claimed.next_digest_at
    Preferences.objects.filter(pk=claimed.pk, next_digest_at=lease).update(**fields)
