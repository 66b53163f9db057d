"""Knows which account of the company's directory controls a person.

The directory describes its accounts by SCIM (accounts/scim). An account lets no one sign in. It
only deactivates its person, and gives them teams and roles.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from django.conf import settings
from django.db.models import QuerySet

from accounts.audit import Actor, record
from accounts.models import DirectoryAccount, DirectoryGroup, User

log = logging.getLogger(__name__)


def hold(external_id: str) -> DirectoryAccount | None:
    """Returns the directory's account with this id, and locks it. Lock an account before its
    person, as the requests of the directory do."""
    if not settings.WAKE_SCIM_TOKENS or not external_id:
        return None
    accounts = DirectoryAccount.objects.present().filter(external_id=external_id)
    return accounts.select_for_update(no_key=True, of=("self",)).select_related("user").first()


def has_way_in(user: User) -> bool:
    """Returns whether the person can sign in, or could before they were deactivated."""
    has_account = user.identities.exists() or user.passkeys.exists()
    return user.has_usable_password() or has_account


def is_of_another(user: User, external_id: str) -> bool:
    """Returns whether the directory knows the person by another id. Their address may have a new
    owner then."""
    account = _account_of(user) if external_id else None
    return account is not None and account.external_id not in {"", external_id}


def connect(account: DirectoryAccount, user: User, *, by: Actor) -> User | None:
    """Connects a locked account to the person who proved that the account is theirs. Returns the
    person to whom the account was connected before, who has never signed in."""
    former = account.user
    if former == user:
        return None
    if former is not None and has_way_in(former):
        log.warning("The directory account %s stays connected to person %s", account, former.pk)
        return None
    disconnect(user)
    account.user = user
    account.save(update_fields=["user"])
    record("directory_account.connected", by=by, of=account, team=None, person=user.pk)
    return former


def disconnect(user: User) -> None:
    """Takes the person out of the directory's control, until an account is connected again."""
    accounts = DirectoryAccount.objects.filter(user=user)
    accounts.filter(deleted_at__isnull=False).delete()
    accounts.update(user=None, deactivated_person_at=None)


def groups_of(user: User, at_sign_in: Collection[str]) -> frozenset[str]:
    """Returns the person's groups: as the directory says for those that it sends, and as the last
    sign-in said for the others."""
    account = _account_of(user)
    if account is None:
        return frozenset(at_sign_in)
    ids, names = _ids_and_names(DirectoryGroup.objects.all())
    own_ids, own_names = _ids_and_names(DirectoryGroup.objects.filter(members=account))
    # A group that has the id of another group as its name does not count as the other group.
    own = own_ids | (own_names - ids)
    return frozenset(set(at_sign_in) - ids - names | own)


def _account_of(user: User) -> DirectoryAccount | None:
    """Returns None as well if the directory was switched off."""
    if not settings.WAKE_SCIM_TOKENS:
        return None
    return DirectoryAccount.objects.filter(user=user).first()


def _ids_and_names(groups: QuerySet[DirectoryGroup]) -> tuple[set[str], set[str]]:
    rows = list(groups.values_list("external_id", "display_name"))
    return {id for id, _ in rows if id}, {name for _, name in rows}
