"""Stores which mails about passkeys are due. These mails let a person notice that a thief added a
passkey."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet

from accounts.models import Passkey, PasskeyNotice, User

# If the mail server was away for longer than this, no mail is sent. The settings still show the
# passkeys.
TRIED_FOR = timedelta(days=3)


def queue_notice(user: User, kind: PasskeyNotice.Kind, passkey: Passkey, *, at: datetime) -> None:
    """Stores that a mail about this passkey is due. The same mail is stored only once."""
    PasskeyNotice.objects.get_or_create(
        user=user,
        kind=kind,
        passkey=passkey.name,
        email=user.email,
        defaults={"happened_at": at, "due_at": at},
    )


def due(at: datetime) -> QuerySet[PasskeyNotice]:
    return PasskeyNotice.objects.filter(due_at__lte=at).order_by("due_at")


def forget_old(*, at: datetime) -> None:
    PasskeyNotice.objects.filter(happened_at__lt=at - TRIED_FOR).delete()
