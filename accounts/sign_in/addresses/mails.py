"""Mails the links that confirm and undo a new address. The worker creates a link when it sends the
mail, so that only the mail's reader has it.

While the mail server is away, the row waits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.conf import settings

from accounts.models import AddressChange
from accounts.sign_in.addresses import changes
from accounts.sign_in.addresses.changes import CONFIRM_WITHIN, UNDO_WITHIN
from database.clock import database_now
from pages import mail
from pages.mail import NotTaken, ServerAway, send, unlinked, url_of


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Sends the due mails about changes of address. Returns how many were sent."""
    changes.forget_old(at=clock())
    return mail.send_due(
        changes.mails_due, _send, column="mail_due_at", what="changes of address", clock=clock
    )


def _send(change: AddressChange) -> bool:
    """Returns whether a mail was sent; raises ServerAway. No mail goes to an address that belongs
    to another person. The page is the same for all addresses, so it does not reveal which ones are
    taken."""
    text = changes.renew_link(change)
    is_sent = True
    try:
        if change.confirmed_at:
            _send_address_changed(change, text)
        elif is_sent := not changes.is_taken(change):
            _send_new_address(change, text)
    except ServerAway:
        raise
    except NotTaken:
        is_sent = False
    changes.settle_mail(change)
    return is_sent


def _send_new_address(change: AddressChange, text: str) -> None:
    """Sends the link that confirms a new address to that address; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "old_email": unlinked(change.old_email),
        "url": url_of("confirm-address", text),
        "minutes": CONFIRM_WITHIN.seconds // 60,
    }
    subject = "Wake: confirm your new address"
    send(change.new_email, subject=subject, template="accounts/mails/new_address", context=context)


def _send_address_changed(change: AddressChange, text: str) -> None:
    """Notifies the old address, with the link that undoes the change; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "old_email": change.old_email,
        "new_email": unlinked(change.new_email),
        "url": url_of("restore-address", text),
        "days": UNDO_WITHIN.days,
    }
    subject = "Wake: your address was changed"
    send(
        change.old_email,
        subject=subject,
        template="accounts/mails/address_changed",
        context=context,
    )
