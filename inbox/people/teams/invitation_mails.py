"""Mails invitations. The worker makes the link when it sends the mail, so only its reader has it.

While the mail server is away, the row waits. The invitation is mailed later, if it is still valid.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from django.conf import settings

from accounts.models import Invitation
from accounts.teams import invitations
from accounts.teams.invitations import OPEN_FOR
from database import sweeps
from database.clock import database_now
from pages.mail import NotTaken, ServerAway, send, unlinked, url_of

LEASE = timedelta(minutes=2)  # longer than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Returns how many mails were sent."""
    invitations.forget_old(at=clock())
    return sweeps.each(
        islice(iter(lambda: invitations.claim_mail(lease=LEASE, at=clock()), None), AT_ONCE),
        partial(_send, clock=clock),
        what="invitations",
        stop_on=(ServerAway,),
    )


def _send(claimed: tuple[Invitation, str], *, clock: Callable[[], datetime]) -> bool:
    """Returns whether the mail server took it; raises ServerAway."""
    invitation, text = claimed
    try:
        send_invitation(invitation, text)
    except ServerAway:
        raise
    except NotTaken:
        invitations.settle_mail(invitation, mailed_at=None)
        return False
    invitations.settle_mail(invitation, mailed_at=clock())
    return True


def send_invitation(invitation: Invitation, text: str) -> None:
    """Sends the link into a team, to a person who may not know Wake yet; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "inviter": unlinked(invitation.invited_by.display_name),
        "team": unlinked(invitation.team.name),
        "role": invitation.role,
        "url": url_of("join", text),
        "days": OPEN_FOR.days,
    }
    send(
        invitation.email,
        subject="Wake: invitation",
        template="accounts/mails/invitation",
        context=context,
    )
