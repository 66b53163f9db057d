"""Mails password links: a request is stored, and a worker looks up the person and mails the link.

The request is a row that waits, so a mail server that is away delays the link and loses none; the
row is deleted after the link's lifetime.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.audit import Actor, record
from accounts.models import ResetRequest, User
from database import sweeps
from database.clock import database_now
from inbox.people.sign_in import mails
from pages.mail import NotTaken, ServerAway

LEASE = timedelta(minutes=2)  # longer than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


class ResetTokens(PasswordResetTokenGenerator):
    """Makes tokens that are valid for PASSWORD_RESET_TIMEOUT, until the password, the last sign-in
    or the sessions change."""

    key_salt = "inbox.password_resets.ResetTokens"  # as in links that were mailed before

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.session_epoch}"

    def _now(self) -> datetime:
        """Returns the database's time without a time zone, as Django's does: the worker makes the
        link and a web server checks it, so both use one clock."""
        return database_now().replace(tzinfo=None)


tokens = ResetTokens()


def request_reset(email: str, *, address: str, at: datetime) -> None:
    """Stores the same row for every address, so that nothing tells which addresses are known."""
    ResetRequest.objects.create(email=email, address=address, asked_at=at, due_at=at)


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Returns how many mails were sent."""
    return sweeps.each(
        islice(iter(lambda: claim(at=clock()), None), AT_ONCE),
        _answer,
        what="password resets",
        stop_on=(ServerAway,),
    )


@transaction.atomic
def claim(*, at: datetime) -> ResetRequest | None:
    """Claims a due request until its lease ends."""
    too_old = at - timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    ResetRequest.objects.filter(asked_at__lt=too_old).delete()
    due = ResetRequest.objects.filter(due_at__lte=at).order_by("due_at")
    row = due.select_for_update(skip_locked=True).first()
    if row is not None:
        row.due_at = at + LEASE
        row.save(update_fields=["due_at"])
    return row


def _answer(claimed: ResetRequest) -> bool:
    """Returns whether a mail was sent; raises ServerAway. A worker that dies in between sends it
    twice."""
    user = User.objects.filter(email=claimed.email.strip().lower(), is_active=True).first()
    is_sent = user is not None and _may_have_one(user) and _send(user, claimed)
    claimed.delete()
    return is_sent


def _may_have_one(user: User) -> bool:
    """Returns False for a person who has no password because a provider signs them in: a mail must
    not give them a second way, which would stay when they leave."""
    is_signed_in_elsewhere = not user.has_usable_password() and user.identities.exists()
    return settings.WAKE_PASSWORDS and not is_signed_in_elsewhere


def _send(user: User, claimed: ResetRequest) -> bool:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    try:
        mails.send_reset(user, uid=uid, token=tokens.make_token(user))
    except ServerAway:
        raise
    except NotTaken:
        return False
    _settle(claimed, user)
    return True


@transaction.atomic
def _settle(claimed: ResetRequest, user: User) -> None:
    by = Actor("nobody", address=claimed.address)
    record("person.reset_mailed", by=by, of=user, team=None)
