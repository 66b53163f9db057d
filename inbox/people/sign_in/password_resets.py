"""Lost passwords: somebody asks, the worker looks up who that is and mails them a link.

The request is a row like any other that waits, so a mail server that is away delays the link and
loses none; after as long as the link would have lived it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.audit import Actor, record
from accounts.models import ResetRequest, User
from inbox import mail
from wake.clock import database_now

LEASE = timedelta(minutes=2)  # more than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


class ResetTokens(PasswordResetTokenGenerator):
    """Good for PASSWORD_RESET_TIMEOUT, and until the password, the last sign-in or the sessions
    are other ones."""

    key_salt = "inbox.password_resets.ResetTokens"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.session_epoch}"


tokens = ResetTokens()


def ask(email: str, *, address: str, at: datetime) -> None:
    """The same row for everybody, so that nothing tells who exists."""
    ResetRequest.objects.create(email=email, address=address, asked_at=at, due_at=at)


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """How many mails were sent."""
    sent = 0
    for _ in range(AT_ONCE):
        claimed = claim(at=clock())
        if claimed is None:
            break
        try:
            sent += _answer(claimed)
        except mail.ServerAway:
            break
        except mail.NotTaken:
            claimed.delete()
    return sent


@transaction.atomic
def claim(*, at: datetime) -> ResetRequest | None:
    """One that is due, for this caller alone until its lease runs out."""
    too_old = at - timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    ResetRequest.objects.filter(asked_at__lt=too_old).delete()
    due = ResetRequest.objects.filter(due_at__lte=at).order_by("due_at")
    row = due.select_for_update(skip_locked=True).first()
    if row is not None:
        row.due_at = at + LEASE
        row.save(update_fields=["due_at"])
    return row


def _answer(claimed: ResetRequest) -> bool:
    """Whether somebody has that address; raises NotTaken. Who dies in between sends it twice."""
    user = User.objects.filter(email=claimed.email.strip().lower(), is_active=True).first()
    if user is not None:
        uid = urlsafe_base64_encode(force_bytes(user.pk))
        mail.send_reset(user, uid=uid, token=tokens.make_token(user))
        _settle(claimed, user)
    claimed.delete()
    return user is not None


@transaction.atomic
def _settle(claimed: ResetRequest, user: User) -> None:
    by = Actor("nobody", address=claimed.address)
    record("person.reset_mailed", by=by, of=user, team=None)
