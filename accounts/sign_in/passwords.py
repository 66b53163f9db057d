"""A new password, whichever way it is set: what goes with it, and the one event that says so."""

from __future__ import annotations

from django.db import transaction

from accounts import second_factor
from accounts.audit import Actor, record
from accounts.models import User


@transaction.atomic
def change_password(user: User, password: str, *, by: Actor) -> None:
    """Ends every session but the one for which the caller keeps it (`update_session_auth_hash`),
    sign-ins that wait for a code and links that were mailed: each fits the old password alone."""
    user.set_password(password)
    user.save(update_fields=["password"])
    was_changed(user, by=by)


def was_changed(user: User, *, by: Actor) -> None:
    """For a caller whose own code has stored it."""
    second_factor.forgive(user)
    record("person.password_set", by=by, of=user, team=None)
