"""Turns rows into resources of SCIM, and resources into the data of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from scim2_models import InvalidValueException, Meta, Reference

from accounts.models import DirectoryAccount, DirectoryGroup
from accounts.scim.directory_accounts import AccountData
from accounts.scim.directory_groups import GroupData
from accounts.scim.filters import uuid_of
from accounts.scim.resources import Email, GroupResource, Member, Name, UserResource
from pages.characters.names import SINGLE_LINE

LONGEST = 255
MAX_EMAILS = 10
MAX_MEMBERS = 5_000


def account_data(resource: UserResource) -> AccountData:
    """Raises InvalidValueException."""
    name, emails = resource.name or Name(), resource.emails or []
    if len(emails) > MAX_EMAILS:
        raise InvalidValueException(detail=f"emails has more than {MAX_EMAILS} values.")
    return AccountData(
        user_name=_required(resource.user_name, "userName"),
        external_id=_text(resource.external_id, "externalId"),
        display_name=_text(resource.display_name, "displayName"),
        formatted_name=_text(name.formatted, "name.formatted"),
        given_name=_text(name.given_name, "name.givenName"),
        family_name=_text(name.family_name, "name.familyName"),
        emails=tuple(_email(each) for each in emails if each.value),
        is_active=resource.active,
    )


def group_data(resource: GroupResource) -> GroupData:
    """Raises InvalidValueException."""
    members = resource.members or []
    if len(members) > MAX_MEMBERS:
        raise InvalidValueException(detail=f"members has more than {MAX_MEMBERS} values.")
    ids = [uuid_of(member.value or "") for member in members]
    if None in ids:
        raise InvalidValueException(detail="members has a value that is no id of a User.")
    return GroupData(
        display_name=_required(resource.display_name, "displayName"),
        external_id=_text(resource.external_id, "externalId"),
        members=frozenset(id for id in ids if id is not None),
    )


def user_of(account: DirectoryAccount) -> UserResource:
    name = Name(
        formatted=account.formatted_name or None,
        given_name=account.given_name or None,
        family_name=account.family_name or None,
    )
    is_named = account.formatted_name or account.given_name or account.family_name
    return UserResource(
        id=str(account.pk),
        external_id=account.external_id or None,
        user_name=account.user_name,
        name=name if is_named else None,
        display_name=account.display_name or None,
        active=account.is_active,
        emails=[Email(**email) for email in account.emails] or None,
        meta=_meta("User", account),
    )


def group_of(group: DirectoryGroup, members: Iterable[Any]) -> GroupResource:
    """Returns the resource with these ids of accounts as its members."""
    return GroupResource(
        id=str(group.pk),
        external_id=group.external_id or None,
        display_name=group.display_name,
        members=[Member(value=str(pk), ref=Reference(f"Users/{pk}")) for pk in members] or None,
        meta=_meta("Group", group),
    )


def _meta(resource_type: str, row: DirectoryAccount | DirectoryGroup) -> Meta:
    return Meta(resource_type=resource_type, created=row.created_at, last_modified=row.changed_at)


def _email(email: Email) -> dict[str, Any]:
    kept: dict[str, Any] = {"value": _text(email.value, "emails.value")}
    if email.type:
        kept["type"] = _text(email.type, "emails.type")
    if email.primary is not None:
        kept["primary"] = email.primary
    return kept


def _required(text: str | None, name: str) -> str:
    found = _text(text, name)
    if not found.strip():
        raise InvalidValueException(detail=f"{name} is missing.")
    return found


def _text(text: str | None, name: str) -> str:
    """Refuses what a row or a page cannot hold."""
    if text is None:
        return ""
    if len(text) > LONGEST:
        raise InvalidValueException(detail=f"{name} has more than {LONGEST} characters.")
    try:
        SINGLE_LINE(text)
    except ValidationError:
        raise InvalidValueException(detail=f"{name} has control characters.") from None
    return text
