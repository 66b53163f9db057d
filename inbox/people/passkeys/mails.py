"""Mails people what happened to their passkeys. While the mail server is away, the row waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice

from accounts.models import PasskeyNotice
from accounts.passkeys import notices
from database import sweeps
from database.clock import database_now
from inbox.people.sign_in import mails
from pages.mail import NotTaken, ServerAway

LEASE = timedelta(minutes=2)  # longer than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Returns how many mails were sent."""
    return sweeps.each(
        islice(iter(lambda: notices.claim(lease=LEASE, at=clock()), None), AT_ONCE),
        _send,
        what="notices about passkeys",
        stop_on=(ServerAway,),
    )


def _send(notice: PasskeyNotice) -> bool:
    """Returns whether the mail was sent; raises ServerAway."""
    is_sent = True
    try:
        mails.send_passkey_notice(notice)
    except ServerAway:
        raise
    except NotTaken:
        is_sent = False
    notice.delete()
    return is_sent
