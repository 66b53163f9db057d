"""Sets a new password. Every way of setting a password records the same event. Also says whether a
person has a password."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import User
from accounts.sign_in.two_step import second_factor


class NoPassword(PermissionDenied):
    """You don't sign in with a password."""


def require_password(user: User) -> None:
    """Raises NoPassword if the person cannot sign in with a password."""
    if not has_password(user):
        raise NoPassword(NoPassword.__doc__)


def has_password(user: User) -> bool:
    """Returns whether the person can sign in with a password, which WAKE_PASSWORDS may switch
    off."""
    return settings.WAKE_PASSWORDS and user.has_usable_password()


@transaction.atomic
def change_password(user: User, password: str, *, by: Actor) -> None:
    """Sets the password. A new password ends every session (except the one that the caller keeps
    with `update_session_auth_hash`), sign-ins that wait for a code, and links in mails. Each of
    them is bound to the password with which it was made."""
    user.set_password(password)
    user.save(update_fields=["password"])
    record_password_change(user, by=by)


def record_password_change(user: User, *, by: Actor) -> None:
    """Records a new password that the caller has stored, and resets the tries of a second
    factor."""
    second_factor.reset_tries(user)
    record("person.password_set", by=by, of=user, team=None)
