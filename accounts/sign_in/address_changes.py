"""Changes the e-mail address with which a person signs in.

The new address confirms by a link, while the person is signed in: a stranger who reads a mistyped
address gets nothing. The old address is told, and can undo it for a week without a sign-in, because
a thief may have changed the password, too.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.agents import keys
from accounts.audit import Actor, person, record
from accounts.models import AddressChange, User
from accounts.sign_in import second_factor, sessions

PREFIX = "wk_mail_"
TEXT = re.compile(rf"{PREFIX}[0-9A-Za-z]{{36}}", re.ASCII)
CONFIRM_WITHIN = timedelta(hours=1)
UNDO_WITHIN = timedelta(days=7)


class ChangeEnded(Exception):
    """This link no longer works: it was used, was replaced or has expired."""


@transaction.atomic
def ask(user: User, new_email: str, *, at: datetime, address: str = "") -> AddressChange:
    """Stores a request to change the address. It replaces an earlier one that is not confirmed."""
    user = User.objects.select_for_update().get(pk=user.pk)
    AddressChange.objects.filter(user=user, confirmed_at=None).delete()
    record("person.address_asked", by=person(user, address), of=user, team=None, at=at)
    return AddressChange.objects.create(
        user=user,
        old_email=user.email,
        new_email=new_email.strip().lower(),
        digest=_new_digest(),
        asked_at=at,
        mail_due_at=at,
    )


def find_to_confirm(text: str, *, of: User, at: datetime) -> AddressChange | None:
    """Returns this person's unconfirmed change for the link, or None."""
    return _find(text, _to_confirm(at) & Q(user=of))


def find_to_undo(text: str, *, at: datetime) -> AddressChange | None:
    """Returns the change that this link undoes."""
    return _find(text, _to_undo(at))


@transaction.atomic
def confirm(change: AddressChange, *, at: datetime, address: str = "") -> User:
    """Changes the address, and ends every session (but the one that the caller keeps with
    `update_session_auth_hash`). Raises ChangeEnded, also if the address belongs to another person
    by now."""
    user = User.objects.select_for_update().get(pk=change.user_id)
    is_open = AddressChange.objects.filter(_to_confirm(at), pk=change.pk, old_email=user.email)
    # The old address is told by a mail, which has a link of its own.
    if not is_open.update(confirmed_at=at, mail_due_at=at, digest=_new_digest()):
        raise ChangeEnded(ChangeEnded.__doc__)
    _store(user, change.new_email)
    sessions.end_all(user)
    record("person.address_changed", by=person(user, address), of=user, team=None, at=at)
    return user


@transaction.atomic
def undo(change: AddressChange, *, at: datetime, address: str = "") -> User:
    """Restores the old address, ends every session and leaves the person without a password and
    a connected account, until they set a password by a mail to that address. An app and passkeys
    that were set up since the change was asked for are removed, too. Raises ChangeEnded."""
    user = User.objects.select_for_update().get(pk=change.user_id)
    if not AddressChange.objects.filter(_to_undo(at), pk=change.pk).exists():
        raise ChangeEnded(ChangeEnded.__doc__)
    # Also later changes: the same thief may have made them.
    AddressChange.objects.filter(user=user, asked_at__gte=change.asked_at).delete()
    _store(user, change.old_email)
    user.set_unusable_password()
    user.save(update_fields=["password"])
    # The thief may have connected an account of theirs.
    user.identities.all().delete()
    by = Actor("nobody", address=address)
    second_factor.remove_all(user, by=by, since=change.asked_at)
    sessions.end_all(user)
    record("person.address_restored", by=by, of=user, team=None, at=at)
    return user


@transaction.atomic
def claim_mail(*, lease: timedelta, at: datetime) -> tuple[AddressChange, str] | None:
    """Claims a change that a mail is due for until the lease ends; returns it with the text of a
    new link. A link that an earlier try may have mailed stops working."""
    AddressChange.objects.exclude(_to_confirm(at) | _to_undo(at)).delete()
    due = AddressChange.objects.filter(mail_due_at__lte=at).select_related("user")
    row = due.order_by("mail_due_at").select_for_update(skip_locked=True, of=("self",)).first()
    if row is None:
        return None
    text = keys.new_text(PREFIX)
    row.digest, row.mail_due_at = keys.digest_of(text), at + lease
    row.save(update_fields=["digest", "mail_due_at"])
    return row, text


def settle_mail(change: AddressChange) -> None:
    """Stores that no mail is due any more: it was sent, or the mail server refused it."""
    AddressChange.objects.filter(pk=change.pk, digest=change.digest).update(mail_due_at=None)


def is_taken(change: AddressChange) -> bool:
    """Returns whether the new address belongs to another person."""
    return User.objects.filter(email=change.new_email).exclude(pk=change.user_id).exists()


def may_be_restored(email: str, *, at: datetime) -> bool:
    """Returns whether a person may still take this address back. It is kept for them: a thief could
    sign up with it otherwise, and the change could not be undone."""
    return AddressChange.objects.filter(_to_undo(at), old_email=email).exists()


def _find(text: str, condition: Q) -> AddressChange | None:
    if not TEXT.fullmatch(text) or not keys.is_whole(text):
        return None
    changes = AddressChange.objects.filter(condition, digest=keys.digest_of(text))
    return changes.select_related("user").first()


def _to_confirm(at: datetime) -> Q:
    return Q(confirmed_at=None, asked_at__gt=at - CONFIRM_WITHIN)


def _to_undo(at: datetime) -> Q:
    return Q(confirmed_at__gt=at - UNDO_WITHIN)


def _store(user: User, email: str) -> None:
    try:
        with transaction.atomic():
            user.email = email
            user.save(update_fields=["email"])
    except IntegrityError:
        raise ChangeEnded(ChangeEnded.__doc__) from None


def _new_digest() -> str:
    return keys.digest_of(keys.new_text(PREFIX))
