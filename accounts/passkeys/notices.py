"""Stores which mails are due about passkeys, because a thief could add one."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Passkey, PasskeyNotice, User

# A mail server that was away for longer gets none: the page shows the passkeys.
TRIED_FOR = timedelta(days=3)


def tell(user: User, kind: PasskeyNotice.Kind, passkey: Passkey, *, at: datetime) -> None:
    """Stores that a mail is due about this passkey; the same one only once."""
    PasskeyNotice.objects.get_or_create(
        user=user,
        kind=kind,
        passkey=passkey.name,
        email=user.email,
        defaults={"happened_at": at, "due_at": at},
    )


@transaction.atomic
def claim(*, lease: timedelta, at: datetime) -> PasskeyNotice | None:
    """Claims a notice that is due until the lease ends."""
    PasskeyNotice.objects.filter(happened_at__lt=at - TRIED_FOR).delete()
    due = PasskeyNotice.objects.filter(due_at__lte=at).order_by("due_at")
    row = due.select_for_update(skip_locked=True).first()
    if row is not None:
        row.due_at = at + lease
        row.save(update_fields=["due_at"])
    return row
