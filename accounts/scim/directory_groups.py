"""Stores the groups that the directory sends, and gives their members teams and roles by the table
WAKE_OIDC_GROUPS."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import DirectoryAccount, DirectoryGroup, User
from accounts.sign_in.oidc import identities
from accounts.sign_in.oidc.provider import Provider


class NoSuchGroup(Exception):
    """The directory has no group with this id."""


class NoSuchMember(Exception):
    """The directory has no account with the id of a member."""


@dataclass(frozen=True, slots=True)
class GroupData:
    """Holds what the directory says of a group. `members` has the ids of accounts."""

    display_name: str
    external_id: str
    members: frozenset[UUID]


@transaction.atomic
def add(data: GroupData, *, provider: Provider, by: Actor, at: datetime) -> DirectoryGroup:
    """Stores a group. Raises NoSuchMember."""
    group = DirectoryGroup.objects.create(
        display_name=data.display_name,
        external_id=data.external_id,
        created_at=at,
        changed_at=at,
    )
    _set_members(group, data.members)
    record("directory_group.added", by=by, of=group, team=None, at=at, members=len(data.members))
    _settle(data.members, provider)
    return group


@transaction.atomic
def change(
    group: DirectoryGroup, data: GroupData, *, provider: Provider, by: Actor, at: datetime
) -> None:
    """Stores what the directory says now of a group that the caller holds. Raises NoSuchMember."""
    is_renamed = (group.display_name, group.external_id) != (data.display_name, data.external_id)
    group.display_name, group.external_id, group.changed_at = (
        *(data.display_name, data.external_id),
        at,
    )
    group.save()
    before = _members_of(group)
    _set_members(group, data.members)
    record(
        "directory_group.changed",
        by=by,
        of=group,
        team=None,
        at=at,
        added=len(data.members - before),
        removed=len(before - data.members),
    )
    _settle(before | data.members if is_renamed else before ^ data.members, provider)


@transaction.atomic
def delete(group: DirectoryGroup, *, provider: Provider, by: Actor, at: datetime) -> None:
    """Removes a group. Its members lose the roles that it gave."""
    record("directory_group.removed", by=by, of=group, team=None, at=at)
    members = _members_of(group)
    group.delete()
    _settle(members, provider)


def hold(pk: UUID) -> DirectoryGroup:
    """Locks the group inside the caller's transaction. Raises NoSuchGroup."""
    group = DirectoryGroup.objects.select_for_update(no_key=True).filter(pk=pk).first()
    if group is None:
        raise NoSuchGroup(NoSuchGroup.__doc__)
    return group


def _members_of(group: DirectoryGroup) -> frozenset[UUID]:
    return frozenset(group.members.values_list("pk", flat=True))


def _set_members(group: DirectoryGroup, members: Collection[UUID]) -> None:
    found = list(DirectoryAccount.objects.present().filter(pk__in=members))
    if len(found) < len(members):
        raise NoSuchMember(NoSuchMember.__doc__)
    group.members.set(found)


def _settle(members: Collection[UUID], provider: Provider) -> None:
    """Applies the groups of these members. Locks their accounts, then all people, before the first
    team is locked, as a sign-in does."""
    accounts = DirectoryAccount.objects.filter(pk__in=members).order_by("pk")
    held = {account.user_id for account in accounts.select_for_update(no_key=True)}
    people = User.objects.filter(pk__in=[pk for pk in held if pk]).order_by("pk")
    for user in people.select_for_update(no_key=True):
        identities.apply_groups(user, provider)
