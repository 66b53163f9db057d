"""Checks the second step of signing in: a code of an authenticator app, or a recovery code. A
passkey is a second step, too (accounts/sign_in/passkeys/).

A person is asked for the second step only after the right password. Attempts are counted in the
database, so that they stay limited while Redis is away (docs/decisions/0013-sign-in-is-our-own.md).
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import datetime

from django.db import transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from accounts.audit import Actor, record
from accounts.models import Membership, Passkey, RecoveryCode, SecondFactor, Team, User
from accounts.sign_in.browsers.sessions import end_all
from accounts.sign_in.two_step import one_time_codes
from database import encryption
from database.clock import microseconds

log = logging.getLogger(__name__)

RECOVERY_CODES = 10
# Leaves out letters and digits that look alike. Fifteen of these letters are 74 bits.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
ATTEMPTS = 10
# A person gets one more attempt every six minutes. Three codes of a million are valid, so guessing
# takes years.
ATTEMPT_US = 6 * 60 * 1_000_000


class TriesSpent(Exception):
    """Too many codes were tried for this account; `retry_after` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(TriesSpent.__doc__)
        self.retry_after = retry_after


def is_on(user: User) -> bool:
    """Returns whether the person has a second step: an authenticator app or a passkey."""
    return User.objects.filter(_has_second_step("pk"), pk=user.pk).exists()


def has_app(user: User) -> bool:
    return SecondFactor.objects.filter(user=user).exists()


def with_second_step(memberships: QuerySet[Membership]) -> QuerySet[Membership]:
    """Adds to each membership `has_second_step`: whether its person has a second step."""
    return memberships.annotate(
        has_second_step=ExpressionWrapper(_has_second_step("user"), output_field=BooleanField())
    )


def with_owed(users: QuerySet[User]) -> QuerySet[User]:
    """Adds `owes_second_factor`: whether a team of the person requires a second factor that they do
    not have."""
    required = Membership.objects.filter(
        user=OuterRef("pk"), team__second_factor_required_at__isnull=False
    )
    return users.annotate(
        owes_second_factor=ExpressionWrapper(
            Exists(required) & ~_has_second_step("pk"), output_field=BooleanField()
        )
    )


def teams_requiring(user: User) -> QuerySet[Team]:
    """Returns the person's teams that require a second factor, by name."""
    own = Team.objects.filter(memberships__user=user, second_factor_required_at__isnull=False)
    return own.order_by("name", "pk")


@transaction.atomic
def turn_on(user: User, secret: str, code: str, *, by: Actor, at: datetime) -> list[str] | None:
    """Turns the second factor on and returns the recovery codes, to be shown once. Returns None if
    the code is wrong, or if another page has set up the app first. Every session ends except the
    one that the caller keeps."""
    step = one_time_codes.fitting_step(secret, plain(code), at=at, after=0)
    if step is None:
        return None
    ciphertext = encryption.encrypt(secret.encode()).decode()
    _, is_new = SecondFactor.objects.get_or_create(
        user=user, defaults={"ciphertext": ciphertext, "last_step": step, "created_at": at}
    )
    if not is_new:
        return None
    end_all(user)
    record("second_factor.turned_on", by=by, of=user, team=None)
    return store_recovery_codes(user)


@transaction.atomic
def turn_off(user: User, *, by: Actor) -> bool:
    """Turns the app off and returns whether it was on; passkeys stay. The caller must have checked
    a code, or have a shell on the server."""
    removed, _ = SecondFactor.objects.filter(user=user).delete()
    delete_recovery_codes_if_off(user)
    if removed:
        record("second_factor.turned_off", by=by, of=user, team=None)
    return bool(removed)


@transaction.atomic
def remove_all(user: User, *, by: Actor, since: datetime | None = None) -> bool:
    """Removes the app and the passkeys, or only the ones that were set up after `since`. Also
    removes the recovery codes if no second step remains. Returns whether it removed the app or a
    passkey."""
    app, passkeys = SecondFactor.objects.filter(user=user), Passkey.objects.filter(user=user)
    if since is not None:
        app, passkeys = app.filter(created_at__gte=since), passkeys.filter(created_at__gte=since)
    names = list(passkeys.values_list("name", flat=True))
    passkeys.delete()
    for name in names:
        record("passkey.removed", by=by, of=user, team=None, name=name)
    has_app, _ = app.delete()
    if has_app:
        record("second_factor.turned_off", by=by, of=user, team=None)
    delete_recovery_codes_if_off(user)
    return bool(has_app or names)


def delete_recovery_codes_if_off(user: User) -> None:
    """Deletes the recovery codes of a person who has no second step any more."""
    if not is_on(user):
        RecoveryCode.objects.filter(user=user).delete()


@transaction.atomic
def renew_recovery_codes(user: User, *, by: Actor) -> list[str]:
    """Replaces the recovery codes with ten new ones, to be shown once."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    record("second_factor.codes_renewed", by=by, of=user, team=None)
    return store_recovery_codes(user)


@transaction.atomic
def check(user: User, typed: str, *, by: Actor, at: datetime) -> bool:
    """Returns whether this code or recovery code is valid, and uses it up. Raises TriesSpent.

    A recovery code is too long to be guessed, so it works even after too many wrong codes.
    """
    factor = SecondFactor.objects.select_for_update().filter(user=user).first()
    code = plain(typed)
    if not code.isdigit() and _use_recovery_code(user, code, at=at):
        record("second_factor.recovery_code_used", by=by, of=user, team=None)
        return True
    if factor is None:  # the person has passkeys only; the caller counts their attempts
        record("second_factor.code_refused", by=by, of=user, team=None)
        return False
    _take_a_try(factor, now_us=microseconds(at))
    step = _fitting_step(factor, code, at=at)
    if step is None:
        factor.save(update_fields=["tries_us"])
        record("second_factor.code_refused", by=by, of=user, team=None)
        return False
    factor.last_step, factor.tries_us = step, 0
    factor.save(update_fields=["last_step", "tries_us"])
    return True


def reset_tries(user: User) -> None:
    """Resets the tries, because the password has changed, and each try needed the old password."""
    SecondFactor.objects.filter(user=user).update(tries_us=0)


def recovery_codes_left(user: User) -> int:
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


def plain(typed: str) -> str:
    """Removes the spaces and hyphens that people and apps put between groups."""
    return "".join(typed.split()).replace("-", "").lower()


def _has_second_step(user: str) -> Q:
    """Returns the condition for a query whose column `user` is a person's id."""
    own = {"user": OuterRef(user)}
    app, passkey = SecondFactor.objects.filter(**own), Passkey.objects.filter(**own)
    return Exists(app) | Exists(passkey)


def _take_a_try(factor: SecondFactor, *, now_us: int) -> None:
    """Raises TriesSpent if no try is left. `tries_us` is the time at which all tries are available
    again, as in accounts/agents/quota.py."""
    full_at = max(factor.tries_us, now_us) + ATTEMPT_US
    too_early = full_at - now_us - ATTEMPTS * ATTEMPT_US
    if too_early > 0:
        raise TriesSpent(-(-too_early // 1_000_000))
    factor.tries_us = full_at


def _fitting_step(factor: SecondFactor, code: str, *, at: datetime) -> int | None:
    """Returns None for a secret whose encryption key is missing. Recovery codes still work without
    that key."""
    try:
        secret = encryption.decrypt(factor.ciphertext.encode()).decode()
    except encryption.Unreadable:
        log.exception("The second factor of person %s cannot be read", factor.pk)
        return None
    return one_time_codes.fitting_step(secret, code, at=at, after=factor.last_step)


def store_recovery_codes(user: User) -> list[str]:
    """Replaces the recovery codes of a person, and returns the new ones."""
    RecoveryCode.objects.filter(user=user).delete()
    codes = ["".join(secrets.choice(LETTERS) for _ in range(15)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(user=user, digest=_digest(code)) for code in codes
    )
    return ["-".join((code[:5], code[5:10], code[10:])) for code in codes]


def _use_recovery_code(user: User, code: str, *, at: datetime) -> bool:
    unused = RecoveryCode.objects.filter(user=user, digest=_digest(code), used_at=None)
    return bool(unused.update(used_at=at))


def _digest(code: str) -> str:
    """Uses no salt and no slow hash, because 74 random bits cannot be guessed."""
    return hashlib.sha256(code.encode()).hexdigest()
