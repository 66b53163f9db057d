"""Reads and writes the directory's accounts and groups for scim2_server, which knows the
protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Prefetch, QuerySet
from scim2_models import (
    InvalidValueException,
    NotFoundException,
    NotImplementedException,
    Resource,
    ResourceType,
    ResponseParameters,
    SearchRequest,
    UniquenessException,
)
from scim2_server.storage import ScimStorage, SearchPage

from accounts.audit import Actor
from accounts.models import DirectoryAccount, DirectoryGroup
from accounts.scim import directory_accounts, directory_groups, filters, mapping
from accounts.scim.resources import GroupResource, UserResource
from accounts.sign_in.oidc.provider import Provider
from database.clock import database_now

ACCOUNTS = "User"  # the name of the resource type
LAST_INDEX = 1_000_000  # PostgreSQL refuses an index that is no bigint
MEMBERS = Prefetch("members", DirectoryAccount.objects.only("pk").order_by("pk"))


@dataclass(frozen=True)
class DirectoryStorage(ScimStorage):
    """Changes the rows in the name of `by`. One object serves one request."""

    provider: Provider
    by: Actor

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Answers 409 if another request stored the same name at this moment."""
        try:
            with transaction.atomic():
                yield
        except IntegrityError:
            raise UniquenessException(detail="Another request stored this just now.") from None

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        """Reads a resource. Locks it if it is changed next: only a request that reads has
        parameters."""
        if response_parameters is None:
            return _resource(self._hold(resource_type, resource_id))
        rows = _rows(resource_type, response_parameters)
        row = rows.filter(pk=_pk(resource_id)).first()
        if row is None:
            raise NotFoundException(detail=f"There is no {resource_type.name} with this id.")
        return _resource(row, response_parameters)

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        if len(resource_types) != 1:
            raise NotImplementedException(detail="Search in /Users or in /Groups.")
        (resource_type,) = resource_types
        rows = _rows(resource_type, search_request).order_by("created_at", "pk")
        if search_request.filter is not None:
            known = filters.USERS if resource_type.name == ACCOUNTS else filters.GROUPS
            rows = rows.filter(filters.condition_of(search_request.filter.ast, known))
        first = min(search_request.start_index_0 or 0, LAST_INDEX)
        count = search_request.count or 0
        found = [_resource(row, search_request) for row in rows[first : first + count]]
        return SearchPage(rows.count(), found)

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        with _refusals():
            if isinstance(resource, UserResource):
                data = mapping.account_data(resource)
                return _resource(directory_accounts.add(data, **self._how()))
            return _resource(
                directory_groups.add(
                    mapping.group_data(cast(GroupResource, resource)), **self._how()
                )
            )

    def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,
    ) -> Resource[Any]:
        row = self._hold(resource_type, resource.id or "")
        with _refusals():
            if isinstance(row, DirectoryAccount):
                data = mapping.account_data(cast(UserResource, resource))
                directory_accounts.change(row, data, **self._how())
            else:
                members = mapping.group_data(cast(GroupResource, resource))
                directory_groups.change(row, members, **self._how())
        return _resource(row)

    def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,
    ) -> None:
        row = self._hold(resource_type, resource_id)
        if isinstance(row, DirectoryAccount):
            directory_accounts.delete(row, **self._how())
        else:
            directory_groups.delete(row, **self._how())

    def _how(self) -> dict[str, Any]:
        return {"provider": self.provider, "by": self.by, "at": database_now()}

    def _hold(
        self, resource_type: ResourceType, resource_id: str
    ) -> DirectoryAccount | DirectoryGroup:
        is_account = resource_type.name == ACCOUNTS
        try:
            if is_account:
                return directory_accounts.hold(_pk(resource_id))
            return directory_groups.hold(_pk(resource_id))
        except (directory_accounts.NoSuchAccount, directory_groups.NoSuchGroup) as reason:
            raise NotFoundException(detail=str(reason)) from None


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (directory_accounts.UserNameTaken, directory_accounts.ExternalIdTaken) as reason:
        raise UniquenessException(detail=str(reason)) from None
    except directory_groups.NoSuchMember as reason:
        raise InvalidValueException(detail=str(reason)) from None


def _rows(resource_type: ResourceType, parameters: ResponseParameters[Any]) -> QuerySet[Any]:
    if resource_type.name == ACCOUNTS:
        return DirectoryAccount.objects.present()
    groups = DirectoryGroup.objects.all()
    return groups.prefetch_related(MEMBERS) if _has_members(parameters) else groups


def _resource(
    row: DirectoryAccount | DirectoryGroup, parameters: ResponseParameters[Any] | None = None
) -> Resource[Any]:
    if isinstance(row, DirectoryAccount):
        return mapping.user_of(row)
    members = row.members.all() if parameters is None or _has_members(parameters) else ()
    return mapping.group_of(row, (member.pk for member in members))


def _has_members(parameters: ResponseParameters[Any]) -> bool:
    """Returns False for `excludedAttributes=members`, which directories send for large groups."""
    excluded = parameters.excluded_attributes or ()
    return all(str(path).lower() != "members" for path in excluded)


def _pk(resource_id: str) -> UUID:
    found = filters.uuid_of(resource_id)
    if found is None:
        raise NotFoundException(detail="There is no resource with this id.")
    return found
