"""Changes the e-mail address with which a person signs in.

A link in a mail confirms the new address, and works only while the person is signed in. So a
stranger who gets the mail, because the address was mistyped, cannot use the link. A mail to the old
address has a link that undoes the change within a week. This link works without a sign-in, because
a thief may have changed the password, too.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from accounts.access.key_texts import digest_of, is_whole, new_text
from accounts.audit import Actor, person, record
from accounts.models import AddressChange, User
from accounts.sign_in.browsers import sessions
from accounts.sign_in.two_step import second_factor

PREFIX = "wk_mail_"
TEXT = re.compile(rf"{PREFIX}[0-9A-Za-z]{{36}}", re.ASCII)
CONFIRM_WITHIN = timedelta(hours=1)
UNDO_WITHIN = timedelta(days=7)


class ChangeEnded(Exception):
    """This link no longer works: it was used, was replaced or has expired."""


@transaction.atomic
def ask(user: User, new_email: str, *, at: datetime, address: str = "") -> AddressChange:
    """Stores a request to change the address. The new request replaces an earlier unconfirmed
    one."""
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
    """Changes the address, and ends every session (except the one that the caller keeps with
    `update_session_auth_hash`). Raises ChangeEnded if the link no longer works, or if the address
    now belongs to another person."""
    user = User.objects.select_for_update().get(pk=change.user_id)
    is_open = AddressChange.objects.filter(_to_confirm(at), pk=change.pk, old_email=user.email)
    # A mail notifies the old address, with a separate link.
    if not is_open.update(confirmed_at=at, mail_due_at=at, digest=_new_digest()):
        raise ChangeEnded(ChangeEnded.__doc__)
    _store(user, change.new_email)
    sessions.end_all(user)
    record("person.address_changed", by=person(user, address), of=user, team=None, at=at)
    return user


@transaction.atomic
def undo(change: AddressChange, *, at: datetime, address: str = "") -> User:
    """Restores the old address and ends every session. Removes the password and the connected
    account. The person then sets a new password by a mail to the old address. Also removes an app
    and passkeys that were set up since the change was requested. Raises ChangeEnded."""
    user = User.objects.select_for_update().get(pk=change.user_id)
    if not AddressChange.objects.filter(_to_undo(at), pk=change.pk).exists():
        raise ChangeEnded(ChangeEnded.__doc__)
    # Later changes are undone as well, because the same thief may have made them.
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


def mails_due(at: datetime) -> QuerySet[AddressChange]:
    rows = AddressChange.objects.filter(mail_due_at__lte=at).select_related("user")
    return rows.order_by("mail_due_at")


def forget_old(*, at: datetime) -> None:
    AddressChange.objects.exclude(_to_confirm(at) | _to_undo(at)).delete()


def renew_link(change: AddressChange) -> str:
    """Returns the text of a new link. A link that an earlier try may have mailed stops working."""
    text = new_text(PREFIX)
    change.digest = digest_of(text)
    AddressChange.objects.filter(pk=change.pk).update(digest=change.digest)
    return text


def settle_mail(change: AddressChange) -> None:
    """Stores that no mail is due any more, because the mail was sent or the mail server refused
    it."""
    AddressChange.objects.filter(pk=change.pk, digest=change.digest).update(mail_due_at=None)


def is_taken(change: AddressChange) -> bool:
    """Returns whether the new address belongs to another person."""
    return User.objects.filter(email=change.new_email).exclude(pk=change.user_id).exists()


def may_be_restored(email: str, *, at: datetime) -> bool:
    """Returns whether a person may still take this address back. Such an address is reserved for
    that person. Otherwise a thief could sign up with the address, and the change could not be
    undone."""
    return AddressChange.objects.filter(_to_undo(at), old_email=email).exists()


def _find(text: str, condition: Q) -> AddressChange | None:
    if not TEXT.fullmatch(text) or not is_whole(text):
        return None
    changes = AddressChange.objects.filter(condition, digest=digest_of(text))
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
    return digest_of(new_text(PREFIX))
