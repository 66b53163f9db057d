"""Invitations by mail: the row waits, and the worker that mails it makes its link.

So nobody but the reader of the mail ever has the link; and a mail server that is away delays an
invitation and loses none, for as long as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from accounts import invitations
from inbox import mail
from wake.clock import database_now

LEASE = timedelta(minutes=2)  # more than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """How many mails were sent."""
    invitations.forget_old(at=clock())
    sent = 0
    for _ in range(AT_ONCE):
        at = clock()
        claimed = invitations.claim_mail(lease=LEASE, at=at)
        if claimed is None:
            break
        invitation, text = claimed
        try:
            mail.send_invitation(invitation, text)
        except mail.ServerAway:
            break
        except mail.NotTaken:
            invitations.settle_mail(invitation, mailed_at=None)
        else:
            invitations.settle_mail(invitation, mailed_at=at)
            sent += 1
    return sent
