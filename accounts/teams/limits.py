"""Limits how many people join, and how many invitations are mailed."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.limits import throttles
from accounts.sign_in.limits import MAILS_TO_AN_ADDRESS

INVITATIONS_OF_A_PERSON = "40/d"


def count_sign_up(request: HttpRequest) -> None:
    """Raises TooManyRequests if one network signs up too many people, or tries out addresses."""
    throttles.count(
        request, group="sign-up", rate="10/h", key=lambda: throttles.client_network(request)
    )


def may_mail_an_invitation(request: HttpRequest, email: str) -> bool:
    """Returns whether an invitation may be mailed. Mails to one address and mails of one person are
    limited, so that invitations cannot fill a mailbox."""
    email, by = email.strip().lower(), str(request.user.pk)
    try:
        for rate in MAILS_TO_AN_ADDRESS:
            throttles.count(request, group="invitation-mail", rate=rate, key=lambda: email)
        throttles.count(
            request, group="invitations-of", rate=INVITATIONS_OF_A_PERSON, key=lambda: by
        )
    except throttles.TooManyRequests:
        return False
    return True
