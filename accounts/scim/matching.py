"""Finds or creates the person of a directory account.

An account belongs to the person who signed in with it. An address connects only a person who has no
way to sign in yet, as at a first sign-in with the provider
(docs/decisions/0052-an-address-connects-no-one.md). An account without a person changes nothing.
"""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accounts.access import directory
from accounts.audit import Actor, record
from accounts.models import DirectoryAccount, Identity, User
from accounts.sign_in.addresses import changes as address_changes
from accounts.sign_in.oidc import identities
from accounts.sign_in.oidc.provider import Provider
from pages.characters.addresses import domain_of, exact_address

LONGEST_ADDRESS = 254


def find_person(
    account: DirectoryAccount, *, provider: Provider, by: Actor, at: datetime
) -> User | None:
    """Connects the account to its person, whose row is then locked. Creates the person of an active
    account whose address is new here. Returns None if the account belongs to no one yet."""
    user = _who_signed_in(account, provider) or _who_came_back(account)
    if user is None:
        user = _with_address(account, provider, by=by, at=at)
    if user is None or not _take_over(account, user):
        return None
    account.user = user
    account.save(update_fields=["user", "deactivated_person_at"])
    record("directory_account.connected", by=by, of=account, team=None, at=at, person=user.pk)
    return user


def _who_signed_in(account: DirectoryAccount, provider: Provider) -> User | None:
    if not account.external_id:
        return None
    rows = Identity.objects.filter(issuer=provider.issuer)
    is_subject = provider.directory_claim == "sub"
    identity = (
        rows.filter(subject=account.external_id)
        if is_subject
        else rows.filter(directory_id=account.external_id)
    ).first()
    return _held(identity.user_id) if identity else None


def _who_came_back(account: DirectoryAccount) -> User | None:
    """Returns the person whose account with the same id the directory deleted before."""
    if not account.external_id:
        return None
    deleted = DirectoryAccount.objects.filter(deleted_at__isnull=False, user__isnull=False)
    former = deleted.filter(external_id=account.external_id).first()
    return _held(former.user_id) if former and former.user_id else None


def _with_address(
    account: DirectoryAccount, provider: Provider, *, by: Actor, at: datetime
) -> User | None:
    email = _address_of(account)
    if not email or domain_of(email) not in provider.domains:
        return None
    user = User.objects.select_for_update(no_key=True).filter(email=email).first()
    if user is not None:
        is_known = DirectoryAccount.objects.filter(user=user).exists()
        return None if is_known or directory.has_way_in(user) else user
    if account.is_active is False or address_changes.may_be_restored(email, at=at):
        return None
    user = User.objects.create_user(email, display_name=_name_of(account, email))
    record("person.added", by=by, of=user, team=None, at=at)
    return user


def _take_over(account: DirectoryAccount, user: User) -> bool:
    """Replaces the person's deleted account. Returns False if they have another account, which
    stays."""
    former = DirectoryAccount.objects.filter(user=user).exclude(pk=account.pk).first()
    if former is None:
        return True
    if former.deleted_at is None:
        return False
    account.deactivated_person_at = former.deactivated_person_at
    former.delete()
    return True


def _held(user_id: int) -> User:
    return User.objects.select_for_update(no_key=True).get(pk=user_id)


def _address_of(account: DirectoryAccount) -> str:
    """Returns the primary address, or that for work, or the first. Without any, returns the
    userName, if it is an address. Returns an empty text for an address that Wake's forms would read
    differently."""
    ranked = sorted(
        account.emails,
        key=lambda each: (each.get("primary") is not True, each.get("type") != "work"),
    )
    text = str(ranked[0]["value"]) if ranked else account.user_name
    email = exact_address(text) if len(text) <= LONGEST_ADDRESS else ""
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email


def _name_of(account: DirectoryAccount, email: str) -> str:
    parts = f"{account.given_name} {account.family_name}"
    name = account.display_name or account.formatted_name or parts
    return identities.name_for(name, email)
