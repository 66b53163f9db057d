"""Stores the accounts that the directory sends, and lets each control its person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import DirectoryAccount, User, user_key_of
from accounts.people import deactivation
from accounts.scim import matching
from accounts.sign_in.oidc import groups, identities
from accounts.sign_in.oidc.provider import Provider


class NoSuchAccount(Exception):
    """The directory has no account with this id."""


class UserNameTaken(Exception):
    """Another account has this userName."""


class ExternalIdTaken(Exception):
    """Another account has this externalId."""


@dataclass(frozen=True, slots=True)
class AccountData:
    """Holds what the directory says of an account, in the columns of DirectoryAccount."""

    user_name: str
    external_id: str = ""
    display_name: str = ""
    formatted_name: str = ""
    given_name: str = ""
    family_name: str = ""
    emails: tuple[dict[str, Any], ...] = ()
    is_active: bool | None = None

    def columns(self) -> dict[str, Any]:
        return asdict(self) | {"emails": list(self.emails)}


@transaction.atomic
def add(data: AccountData, *, provider: Provider, by: Actor, at: datetime) -> DirectoryAccount:
    """Stores an account, and connects it to a person. Raises UserNameTaken and ExternalIdTaken."""
    account = DirectoryAccount(created_at=at)
    _write(account, data, at=at)
    account.save(force_insert=True)
    record("directory_account.added", by=by, of=account, team=None, at=at)
    _settle(account, provider=provider, by=by, at=at)
    return account


@transaction.atomic
def change(
    account: DirectoryAccount, data: AccountData, *, provider: Provider, by: Actor, at: datetime
) -> None:
    """Stores what the directory says now of an account that the caller holds. Raises UserNameTaken
    and ExternalIdTaken."""
    changed = [name for name, value in data.columns().items() if getattr(account, name) != value]
    _write(account, data, at=at)
    account.save()
    record("directory_account.changed", by=by, of=account, team=None, at=at, fields=changed)
    _settle(account, provider=provider, by=by, at=at)


@transaction.atomic
def delete(account: DirectoryAccount, *, provider: Provider, by: Actor, at: datetime) -> None:
    """Deactivates the person, and takes the roles of their groups away."""
    record("directory_account.removed", by=by, of=account, team=None, at=at)
    account.groups.clear()
    user = _held_person(account)
    if user is None:
        account.delete()
        return
    _deactivate(account, user, by=by, at=at)
    groups.apply(user, frozenset(), provider)
    account.deleted_at = at
    nameless = AccountData(user_name="", external_id=account.external_id, is_active=False)
    _write(account, nameless, at=at)
    account.save()


def hold(pk: UUID) -> DirectoryAccount:
    """Locks the account inside the caller's transaction. Raises NoSuchAccount."""
    accounts = DirectoryAccount.objects.present().select_for_update(no_key=True)
    account = accounts.filter(pk=pk).first()
    if account is None:
        raise NoSuchAccount(NoSuchAccount.__doc__)
    return account


def _write(account: DirectoryAccount, data: AccountData, *, at: datetime) -> None:
    """Copies the data into the row, which the caller stores."""
    for name, value in data.columns().items():
        setattr(account, name, value)
    account.user_key, account.changed_at = user_key_of(data.user_name), at
    others = DirectoryAccount.objects.present().exclude(pk=account.pk)
    if account.deleted_at is None and others.filter(user_key=account.user_key).exists():
        raise UserNameTaken(UserNameTaken.__doc__)
    if data.external_id and others.filter(external_id=data.external_id).exists():
        raise ExternalIdTaken(ExternalIdTaken.__doc__)


def _settle(account: DirectoryAccount, *, provider: Provider, by: Actor, at: datetime) -> None:
    """Makes the person what the directory says. Connects an account that has no person yet."""
    user = _held_person(account)
    if user is None:
        user = matching.find_person(account, provider=provider, by=by, at=at)
    if user is None:
        return
    if account.is_active:
        _reactivate(account, user, by=by, at=at)
    elif account.is_active is False:
        _deactivate(account, user, by=by, at=at)
    identities.apply_groups(user, provider)


def _held_person(account: DirectoryAccount) -> User | None:
    people = User.objects.select_for_update(no_key=True)
    return people.filter(pk=account.user_id).first() if account.user_id else None


def _deactivate(account: DirectoryAccount, user: User, *, by: Actor, at: datetime) -> None:
    if not user.is_active:
        return
    deactivation.deactivate(user, by=by, at=at)
    account.deactivated_person_at = at
    account.save(update_fields=["deactivated_person_at"])


def _reactivate(account: DirectoryAccount, user: User, *, by: Actor, at: datetime) -> None:
    """Reactivates the person only if this account deactivated them. An administrator's decision
    stays."""
    if account.deactivated_person_at is None:
        return
    deactivation.reactivate(user, by=by, at=at)
    account.deactivated_person_at = None
    account.save(update_fields=["deactivated_person_at"])
