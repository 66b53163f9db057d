"""Describes this server to a directory: which resources it keeps, and which of their attributes.

A directory sends much more about people, such as phone numbers and departments. Wake ignores what
is not listed here.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)
from scim2_models import User as CoreUser

MAX_RESULTS = 200


class Name(ComplexAttribute):
    formatted: str | None = None
    given_name: str | None = None
    family_name: str | None = None


class Email(ComplexAttribute):
    value: str | None = None
    type: str | None = None
    primary: bool | None = None


class UserResource(Resource[Any]):
    """An account of the directory."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    name: Name | None = None
    Name: ClassVar[type[ComplexAttribute]] = Name
    display_name: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    Emails: ClassVar[type[ComplexAttribute]] = Email


class Member(ComplexAttribute):
    """A reference names the resource type, and CoreUser has the same name as ours."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[Reference[CoreUser[Any]] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )


class GroupResource(Resource[Any]):
    """A group of the directory."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    members: list[Member] | None = None
    Members: ClassVar[type[ComplexAttribute]] = Member


CONFIG = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
    filter=Filter(supported=True, max_results=MAX_RESULTS),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=False),
    etag=ETag(supported=False),
    authentication_schemes=[
        AuthenticationScheme(
            type=AuthenticationScheme.Type.oauthbearertoken,
            name="Bearer token",
            description="The token that the operator of this server set.",
        )
    ],
)

# Entra ID sends `Remove` with the members as its value, and paths of addresses that do not exist
# yet. Both directories send attributes that Wake does not keep.
PROVIDER = ScimProvider(
    models=[UserResource, GroupResource],
    config=CONFIG,
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
