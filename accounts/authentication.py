"""Authenticates agents by a Bearer key (RFC 6750), and never by a cookie."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.agents import keys
from accounts.limits import throttles
from accounts.models import Agent, ApiKey
from database.clock import database_now

if TYPE_CHECKING:
    from rest_framework.views import APIView


class KeyAuthentication(BaseAuthentication):
    """Looks up the key of a request. The error is the same for a missing, malformed, unknown,
    revoked or expired key (docs/protocol.md, Errors)."""

    def authenticate(self, request: Request) -> tuple[Agent, ApiKey]:
        key = _authenticate(request, keys.look_up)
        return key.agent, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def remembered_key(request: HttpRequest) -> ApiKey:
    """Returns the key of a request, which may have ended in the last minute: for requests whose own
    statement says that it is usable now. Raises AuthenticationFailed or TooMany."""
    return _authenticate(request, keys.remembered)


def _authenticate(
    request: HttpRequest | Request, look_up: Callable[[str], ApiKey | None]
) -> ApiKey:
    scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    key = look_up(text.strip()) if scheme.lower() == "bearer" else None
    if key is None or not key.is_usable(now := database_now()):
        throttles.count_bad_key(request)
        raise AuthenticationFailed
    keys.touch(key, at=now)
    return key


class HasKey(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, ApiKey)


def key_of(request: Request) -> ApiKey:
    """Returns the key that KeyAuthentication looked up; its `agent` is loaded."""
    return cast(ApiKey, request.auth)
