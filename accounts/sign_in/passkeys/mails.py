"""Mails people about changes of their passkeys. While the mail server is away, the row waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.conf import settings

from accounts.models import PasskeyNotice
from accounts.sign_in.passkeys import notices
from database.clock import database_now
from pages import mail
from pages.mail import NotTaken, ServerAway, send, unlinked, url_of


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Sends the due mails about passkeys. Returns how many were sent."""
    notices.forget_old(at=clock())
    return mail.send_due(
        notices.due, _send, column="due_at", what="notices about passkeys", clock=clock
    )


def _send(notice: PasskeyNotice) -> bool:
    """Returns whether the mail was sent; raises ServerAway."""
    is_sent = True
    try:
        _send_passkey_notice(notice)
    except ServerAway:
        raise
    except NotTaken:
        is_sent = False
    notice.delete()
    return is_sent


def _send_passkey_notice(notice: PasskeyNotice) -> None:
    """Notifies a person that one of their passkeys was added, removed or copied; raises
    NotTaken."""
    subject = {
        PasskeyNotice.Kind.ADDED: "Wake: a passkey was added",
        PasskeyNotice.Kind.REMOVED: "Wake: a passkey was removed",
        PasskeyNotice.Kind.COPIED: "Wake: a passkey was refused",
    }[PasskeyNotice.Kind(notice.kind)]
    context = {
        "origin": settings.WAKE_ORIGIN,
        "email": notice.email,
        "passkey": unlinked(notice.passkey),
        "kind": notice.kind,
        "passwords": settings.WAKE_PASSWORDS,
        "security_url": url_of("settings-security"),
        "reset_url": url_of("reset"),
    }
    send(notice.email, subject=subject, template="accounts/mails/passkey", context=context)
