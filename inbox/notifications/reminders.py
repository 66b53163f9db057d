"""Tells who asked for it that an agent goes on without them within the hour: the one exception to
quiet hours."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from accounts.models import User
from inbox import mail
from inbox.models import LastCall, Preferences
from inbox.waiting import last_calls_for, people_with_last_calls
from wake.clock import database_now
from wake.models import Delivery

log = logging.getLogger(__name__)

# At once a lease, so that one worker writes, a limit, so that a busy hour is a few mails, and the
# wait after a failure.
PAUSE = timedelta(minutes=10)
DRAIN_SECONDS = 30.0


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """How many were sent. Each bundles whatever is about to close; a mail that failed is tried
    again after the pause, with what is still open then."""
    if not settings.WAKE_SENDS_MAIL:
        return 0
    at = clock()
    stop = time.monotonic() + DRAIN_SECONDS
    sent = 0
    with suppress(mail.ServerAway):
        for user in User.objects.filter(pk__in=people_with_last_calls(at)).order_by("pk"):
            if time.monotonic() < stop:
                sent += _tell(user, at=at)
    return sent


def _tell(user: User, *, at: datetime) -> bool:
    closing = last_calls_for(user, at=at)
    if not closing or not _claim(user, at=at):
        return False
    try:
        mail.send_last_call(user, closing, at=at)
    except mail.NotTaken as error:
        log.warning("A last call to person %s was not sent: %s", user.pk, error)
        if isinstance(error, mail.ServerAway):
            raise
        return False
    _remember(user, closing, at=at)
    return True


def _claim(user: User, *, at: datetime) -> bool:
    rested = Q(last_called_at__isnull=True) | Q(last_called_at__lte=at - PAUSE)
    mine = Preferences.objects.filter(rested, user=user, wants_last_calls=True)
    return mine.update(last_called_at=at) == 1


def _remember(user: User, closing: list[Delivery], *, at: datetime) -> None:
    LastCall.objects.bulk_create(
        [LastCall(user=user, delivery=delivery, sent_at=at) for delivery in closing],
        ignore_conflicts=True,
    )
