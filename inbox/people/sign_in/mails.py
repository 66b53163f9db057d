"""Writes the mails about signing in: links to a new password, new addresses, and passkeys."""

from __future__ import annotations

from django.conf import settings

from accounts.models import AddressChange, PasskeyNotice, User
from accounts.sign_in import second_factor
from accounts.sign_in.address_changes import CONFIRM_WITHIN, UNDO_WITHIN
from pages.mail import send, unlinked, url_of


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


def send_new_address(change: AddressChange, text: str) -> None:
    """Sends the link that confirms a new address to that address; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "old_email": unlinked(change.old_email),
        "url": url_of("confirm-address", text),
        "minutes": CONFIRM_WITHIN.seconds // 60,
    }
    subject = "Wake: confirm your new address"
    send(change.new_email, subject=subject, template="accounts/mails/new_address", context=context)


def send_address_changed(change: AddressChange, text: str) -> None:
    """Tells the old address, with the link that undoes the change; raises NotTaken."""
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


def send_passkey_notice(notice: PasskeyNotice) -> None:
    """Tells a person that a passkey of theirs was added, removed or copied; raises NotTaken."""
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
