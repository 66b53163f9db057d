"""Writes the mail with the link to a new password."""

from __future__ import annotations

from django.conf import settings

from accounts.models import User
from accounts.sign_in.two_step import second_factor
from pages.mail import send, url_of


def send_reset(user: User, *, uid: str, token: str) -> None:
    """Sends the link to a new password; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "email": user.email,
        "url": url_of("reset-password", uid, token),
        "minutes": settings.PASSWORD_RESET_TIMEOUT // 60,
        "has_second_factor": second_factor.is_on(user),
        "passkeys": user.passkeys.count(),
    }
    send(
        user.email,
        subject="Wake: reset your password",
        template="accounts/mails/reset",
        context=context,
    )
