"""Connects accounts at the provider to people, and finds or creates the person who signs in.

An address alone connects nothing. If a person has a password, or is connected to another account at
the provider, only that person can connect a new account, while they are signed in.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from accounts.access import directory, invitations
from accounts.audit import Actor, person, record
from accounts.models import DirectoryAccount, Identity, Invitation, User
from accounts.sign_in.addresses import changes as address_changes
from accounts.sign_in.browsers import sessions
from accounts.sign_in.oidc import groups, problems
from accounts.sign_in.oidc.provider import Provider
from accounts.sign_in.oidc.tokens import Account
from accounts.sign_in.passwords.passwords import has_password
from pages.characters.addresses import domain_of, exact_address
from pages.characters.look_alikes import nfc

LONGEST_NAME = 320  # characters after decomposition, because NFC takes quadratic time


def identity_of(user: User, provider: Provider) -> Identity | None:
    return Identity.objects.filter(user=user, issuer=provider.issuer).first()


def person_of(
    account: Account,
    provider: Provider,
    *,
    invitation: Invitation | None,
    at: datetime,
    address: str = "",
) -> User:
    """Returns the person who is connected to the account. If there is none, creates a person, if an
    invitation or a verified address in WAKE_OIDC_DOMAINS allows that. Applies the person's groups.
    Raises a Problem, and InvitationEnded."""
    try:
        with transaction.atomic():
            in_directory = directory.hold(account.directory_id)
            user = _known(account, provider)
            if user is None:
                user = _newcomer(account, provider, invitation, at=at, address=address)
            _settle(user, account, provider, in_directory)
            return user
    except IntegrityError:  # the same person signs in twice at this moment
        raise problems.SignInExpired(problems.SignInExpired.__doc__) from None


@transaction.atomic
def connect(
    user: User, account: Account, provider: Provider, *, at: datetime, address: str = ""
) -> None:
    """Connects the account to a signed-in person. Raises ConnectedToOther and AlreadyConnected."""
    in_directory = directory.hold(account.directory_id)
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    taken = Identity.objects.filter(issuer=provider.issuer, subject=account.subject).first()
    if taken is not None and taken.user_id != user.pk:
        raise problems.ConnectedToOther(problems.ConnectedToOther.__doc__)
    if taken is None and identity_of(user, provider) is not None:
        raise problems.AlreadyConnected(problems.AlreadyConnected.__doc__)
    if taken is None:
        _store(user, account, provider, at=at, address=address)
    _settle(user, account, provider, in_directory)


@transaction.atomic
def disconnect(user: User, provider: Provider, *, by: Actor) -> bool:
    """Removes the connection and the memberships that came from groups, because no later sign-in
    would remove them. Every session ends except the one that the caller keeps. Raises OnlyWayIn."""
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    identity = identity_of(user, provider)
    if identity is None:
        return False
    if not has_password(user):
        raise problems.OnlyWayIn(problems.OnlyWayIn.__doc__)
    record("identity.disconnected", by=by, of=identity, team=None)
    identity.delete()
    groups.apply(user, directory.groups_of(user, ()), provider)
    sessions.end_all(user)
    return True


def is_the_same(user: User, account: Account, provider: Provider) -> bool:
    """Returns whether the person is connected to this account."""
    identity = identity_of(user, provider)
    return identity is not None and identity.subject == account.subject


def _known(account: Account, provider: Provider) -> User | None:
    """Returns the person and locks their row. Stores what the provider says of them now."""
    identity = Identity.objects.filter(issuer=provider.issuer, subject=account.subject).first()
    if identity is None:
        return None
    user = User.objects.select_for_update(no_key=True).get(pk=identity.user_id)
    said = _said(account, provider)
    if any(getattr(identity, name) != value for name, value in said.items()):
        Identity.objects.filter(pk=identity.pk).update(**said)
    return user


def _said(account: Account, provider: Provider) -> dict[str, str]:
    said = {"email": _email_of(account), "directory_id": account.directory_id}
    if account.groups is not None:
        named = account.groups & {group for group, _, _ in provider.groups}
        said["groups"] = "\n".join(sorted(named))
    return said


def _newcomer(
    account: Account,
    provider: Provider,
    invitation: Invitation | None,
    *,
    at: datetime,
    address: str,
) -> User:
    email = _email_for(account, provider, invitation)
    user = _without_a_way_in(email, account, provider)
    if user is None:
        if address_changes.may_be_restored(email, at=at):
            raise _taken()
        user = User.objects.create_user(email, display_name=name_for(account.name, email))
        record("person.added", by=person(user, address), of=user, team=None)
    _store(user, account, provider, at=at, address=address)
    if invitation is not None:
        invitations.accept(invitation, by=user, at=at, address=address)
    return user


def _email_for(account: Account, provider: Provider, invitation: Invitation | None) -> str:
    """Returns the address of the new person. The provider has verified this address. The address of
    an invitation may be used instead, because the invitation was sent to that address."""
    email = _email_of(account)
    is_verified = bool(email) and account.is_email_verified
    if invitation is not None:
        if not is_verified and not invitation.email:
            raise problems.AddressNotVerified(problems.AddressNotVerified.__doc__)
        return email if is_verified else invitation.email
    if domain_of(email) not in provider.domains:
        if settings.WAKE_PASSWORDS:
            raise problems.NotConnected(problems.NotConnected.__doc__)
        raise problems.NotConnectedAndNoPasswords(problems.NotConnectedAndNoPasswords.__doc__)
    if not is_verified:
        raise problems.AddressNotVerified(problems.AddressNotVerified.__doc__)
    return email


def _without_a_way_in(email: str, account: Account, provider: Provider) -> User | None:
    """Returns the person with this address, if they cannot sign in yet and the provider verified
    the address in a domain of the operator. Raises AddressTaken if any other person has this
    address, because the address may have had another owner at the provider before."""
    user = User.objects.select_for_update(no_key=True).filter(email=email).first()
    if user is None:
        return None
    is_verified = account.is_email_verified and email == _email_of(account)
    if not is_verified or domain_of(email) not in provider.domains:
        raise _taken()
    if user.has_usable_password():
        raise _taken()
    if directory.has_way_in(user) or directory.is_of_another(user, account.directory_id):
        raise problems.AddressTakenAndNoPasswords(problems.AddressTakenAndNoPasswords.__doc__)
    return user


def _taken() -> problems.Problem:
    if settings.WAKE_PASSWORDS:
        return problems.AddressTaken(problems.AddressTaken.__doc__)
    return problems.AddressTakenAndNoPasswords(problems.AddressTakenAndNoPasswords.__doc__)


def _store(user: User, account: Account, provider: Provider, *, at: datetime, address: str) -> None:
    identity = Identity.objects.create(
        issuer=provider.issuer,
        subject=account.subject,
        user=user,
        connected_at=at,
        **_said(account, provider),
    )
    record("identity.connected", by=person(user, address), of=identity, team=None, at=at)


def _settle(
    user: User, account: Account, provider: Provider, in_directory: DirectoryAccount | None
) -> None:
    """Connects the directory's account to the person, and applies the person's groups. Raises
    Deactivated."""
    has_left = in_directory is not None and in_directory.is_active is False
    if has_left or not user.is_active:
        raise problems.Deactivated(problems.Deactivated.__doc__)
    if in_directory is not None:
        former = directory.connect(in_directory, user, by=provider.actor)
        if former is not None:
            groups.apply(former, frozenset(), provider)
    if account.groups is not None or in_directory is not None:
        apply_groups(user, provider)


def apply_groups(user: User, provider: Provider) -> None:
    """Applies the groups that the directory sent, and those of the last sign-in. The caller has
    locked the person's row."""
    identity = identity_of(user, provider)
    at_sign_in = identity.groups if identity is not None else ""
    names = directory.groups_of(user, (at_sign_in or "").splitlines())
    groups.apply(user, names, provider, is_complete=at_sign_in is not None)


def _email_of(account: Account) -> str:
    """Returns the provider's address. Returns an empty text if the provider sent no valid address,
    or one that the sign-in form would read differently."""
    if len(account.email) > 254:  # checked before NFKC, which takes quadratic time
        return ""
    email = exact_address(account.email)
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email if len(email) <= 254 else ""


def name_for(name: str, email: str) -> str:
    """Returns the provider's name for the person, if it can be a display name here."""
    name = nfc(name.strip()[:LONGEST_NAME])[:80]
    field = User._meta.get_field("display_name")
    try:
        return str(field.clean(name, None))
    except ValidationError:
        return email.partition("@")[0][:80]
