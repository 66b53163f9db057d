"""Mails invitations. The worker makes the link when it sends the mail, so only its reader has it.

While the mail server is away, the row waits. The invitation is mailed later, if it is still valid.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from accounts.models import Invitation
from accounts.teams import invitations
from database import sweeps
from database.clock import database_now
from inbox.notifications import mail

LEASE = timedelta(minutes=2)  # longer than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Returns how many mails were sent."""
    invitations.forget_old(at=clock())
    return sweeps.each(
        islice(iter(lambda: invitations.claim_mail(lease=LEASE, at=clock()), None), AT_ONCE),
        partial(_send, clock=clock),
        what="invitations",
        stop_on=(mail.ServerAway,),
    )


def _send(claimed: tuple[Invitation, str], *, clock: Callable[[], datetime]) -> bool:
    """Returns whether the mail server took it; raises ServerAway."""
    invitation, text = claimed
    try:
        mail.send_invitation(invitation, text)
    except mail.ServerAway:
        raise
    except mail.NotTaken:
        invitations.settle_mail(invitation, mailed_at=None)
        return False
    invitations.settle_mail(invitation, mailed_at=clock())
    return True
