"""Mails invitations. The worker creates the link when it sends the mail, so that only the mail's
reader has it.

While the mail server is away, the row waits. The invitation is mailed later, if it is still valid.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db.models import QuerySet

from accounts.access import invitations
from accounts.access.invitations import OPEN_FOR
from accounts.models import Invitation
from database.clock import database_now
from pages import mail
from pages.mail import NotTaken, ServerAway, send, unlinked, url_of


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Sends the due invitations. Returns how many mails were sent."""
    invitations.forget_old(at=clock())
    return mail.send_due(
        _due, partial(_send, clock=clock), column="mail_due_at", what="invitations", clock=clock
    )


def _due(at: datetime) -> QuerySet[Invitation]:
    return Invitation.objects.to_be_mailed(at).select_related("team", "invited_by")


def _send(invitation: Invitation, *, clock: Callable[[], datetime]) -> bool:
    """Returns whether the mail server took the mail; raises ServerAway."""
    try:
        send_invitation(invitation, invitations.renew_link(invitation))
    except ServerAway:
        raise
    except NotTaken:
        invitations.settle_mail(invitation, mailed_at=None)
        return False
    invitations.settle_mail(invitation, mailed_at=clock())
    return True


def send_invitation(invitation: Invitation, text: str) -> None:
    """Sends the link for joining a team to a person who may not know Wake yet; raises NotTaken."""
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
