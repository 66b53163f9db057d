"""Mails password links. A request is stored, and a worker looks up the person and mails the link.

The request is a row that waits, so an outage of the mail server delays the link but does not lose
it. The row is deleted after the link's lifetime.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.db.models import QuerySet
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.audit import Actor, record
from accounts.models import ResetRequest, User
from accounts.sign_in.passwords import mails
from database.clock import database_now
from pages import mail
from pages.mail import NotTaken, ServerAway


class ResetTokens(PasswordResetTokenGenerator):
    """Makes tokens that are valid for PASSWORD_RESET_TIMEOUT, until the password, the last sign-in
    or the sessions change."""

    # The same salt as in links that were mailed by earlier versions.
    key_salt = "inbox.password_resets.ResetTokens"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.session_epoch}"

    def _now(self) -> datetime:
        """Returns the database's time without a time zone, as Django's does. The worker creates the
        link and a web server checks it, so both need the same clock."""
        return database_now().replace(tzinfo=None)


tokens = ResetTokens()


def request_reset(email: str, *, address: str, at: datetime) -> None:
    """Stores the same row for every address, so that nothing reveals which addresses are known."""
    ResetRequest.objects.create(email=email, address=address, asked_at=at, due_at=at)


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Sends the due links for new passwords. Returns how many mails were sent."""
    too_old = clock() - timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    ResetRequest.objects.filter(asked_at__lt=too_old).delete()
    return mail.send_due(due, _answer, column="due_at", what="password resets", clock=clock)


def due(at: datetime) -> QuerySet[ResetRequest]:
    return ResetRequest.objects.filter(due_at__lte=at).order_by("due_at")


def _answer(claimed: ResetRequest) -> bool:
    """Returns whether a mail was sent; raises ServerAway. If a worker dies in between, the mail is
    sent twice."""
    user = User.objects.filter(email=claimed.email.strip().lower(), is_active=True).first()
    is_sent = user is not None and _may_have_one(user) and _send(user, claimed)
    claimed.delete()
    return is_sent


def _may_have_one(user: User) -> bool:
    """Returns False for a person without a password whom a provider signs in. A reset mail must not
    give this person a password, because they could still sign in with it after the provider removes
    them."""
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
