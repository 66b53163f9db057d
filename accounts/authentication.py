"""Who is asking, on the agents' API: a Bearer key (RFC 6750) and nothing else, never a cookie."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts import keys, throttles
from accounts.models import Agent, ApiKey

if TYPE_CHECKING:
    from rest_framework.views import APIView


class KeyAuthentication(BaseAuthentication):
    """One body for no key, a malformed, an unknown, a revoked and an expired one (PROTOCOL.md,
    Errors)."""

    def authenticate(self, request: Request) -> tuple[Agent, ApiKey]:
        scheme, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        now = timezone.now()
        key = keys.find(text.strip(), at=now) if scheme.lower() == "bearer" else None
        if key is None:
            throttles.count_bad_key(request)
            raise AuthenticationFailed
        keys.touch(key, at=now)
        return key.agent, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasKey(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, ApiKey)


def key_of(request: Request) -> ApiKey:
    """The key that KeyAuthentication found; its `agent` and the agent's `team` came with it."""
    return cast(ApiKey, request.auth)
