"""Sends reminders that an agent continues without an answer within the hour, even in quiet
hours."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db.models import Q

from accounts.models import User
from database import sweeps
from database.clock import database_now
from inbox.models import Preferences, Reminder
from inbox.notifications import mail
from inbox.notifications.waiting import due_reminders, people_to_remind
from pages.mail import NotTaken, ServerAway
from wake.models import Delivery

log = logging.getLogger(__name__)

# This pause serves as a lease (one worker sends), as a limit (a busy hour is a few mails), and as
# the wait after a failure.
PAUSE = timedelta(minutes=10)
# The column says when the last reminder began, and the query adds the pause.
LEASE = sweeps.Lease("reminded_at", timedelta())
DRAIN_SECONDS = 30.0


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Returns how many reminders were sent. Each reminder lists every deadline that is about to
    close. A failed mail is tried again after the pause, with the deadlines that are still open
    then."""
    if not settings.WAKE_SENDS_MAIL:
        return 0
    at = clock()
    return sweeps.each(
        User.objects.filter(pk__in=people_to_remind(at)).order_by("pk"),
        partial(_send_to, at=at),
        what="reminders",
        stop_on=(ServerAway,),
        seconds=DRAIN_SECONDS,
    )


def _send_to(user: User, *, at: datetime) -> bool:
    closing = due_reminders(user, at=at)
    if not closing or not _claim(user, at=at):
        return False
    try:
        mail.send_reminder(user, closing, at=at)
    except NotTaken as error:
        log.warning("A reminder to person %s was not sent: %s", user.pk, error)
        if isinstance(error, ServerAway):
            raise
        return False
    _remember(user, closing, at=at)
    return True


def _claim(user: User, *, at: datetime) -> bool:
    may_send = Q(reminded_at__isnull=True) | Q(reminded_at__lte=at - PAUSE)
    rows = Preferences.objects.filter(may_send, user=user, wants_reminders=True)
    return bool(LEASE.claim(rows, at=at))


def _remember(user: User, closing: list[Delivery], *, at: datetime) -> None:
    Reminder.objects.bulk_create(
        [Reminder(user=user, delivery=delivery, sent_at=at) for delivery in closing],
        ignore_conflicts=True,
    )
