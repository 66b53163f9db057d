"""Authenticates agents by a Bearer key (RFC 6750), and never by a cookie."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.access.moves import refuse_moved_key
from accounts.agents import gates, keys
from accounts.agents.limits import count_bad_key
from accounts.limits import turn_groups
from accounts.models import Agent, ApiKey, Gate
from database.clock import database_now
from wake.api import log_context

if TYPE_CHECKING:
    from rest_framework.views import APIView


class KeyAuthentication(BaseAuthentication):
    """Looks up the key of a request. The error is the same for a missing, malformed, unknown,
    revoked or expired key (docs/protocol.md, Errors)."""

    def authenticate(self, request: Request) -> tuple[Agent, ApiKey]:
        key = authenticated(request, keys.look_up)
        return key.agent, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class GateOrKeyAuthentication(KeyAuthentication):
    """Accepts the key of an agent, or the key of a gate."""

    def authenticate(self, request: Request) -> Any:
        text = bearer_of(request)
        if not text.startswith(gates.PREFIX):
            return self.authenticate_agent(request)
        gate = gates.look_up(text)
        if gate is None or not gate.is_usable(now := database_now()):
            refuse_moved_key(text)
            count_bad_key(request._request)
            raise AuthenticationFailed
        turn_groups.accept(f"team {gate.team_id}")
        gates.touch(gate, at=now)
        return gate, gate

    def authenticate_agent(self, request: Request) -> Any:
        return super().authenticate(request)


class RememberedGateOrKeyAuthentication(GateOrKeyAuthentication):
    """Also accepts an agent's key that has ended in the last minute. This class is only for views
    whose own statement checks that the key is usable now."""

    def authenticate_agent(self, request: Request) -> Any:
        key = authenticated(request, keys.remembered)
        return key.agent, key


def remembered_key(request: HttpRequest) -> ApiKey:
    """Returns the key of a request, which may have ended in the last minute. This function is only
    for requests whose own statement checks that the key is usable now. Raises AuthenticationFailed
    or TooMany."""
    return authenticated(request, keys.remembered)


def bearer_of(request: HttpRequest | Request) -> str:
    """Returns the text after `Bearer`, or an empty text."""
    scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return str(text.strip()) if scheme.lower() == "bearer" else ""


def authenticated(
    request: HttpRequest | Request, look_up: Callable[[str], ApiKey | None]
) -> ApiKey:
    """Returns the usable key of the request's Bearer text. Raises AuthenticationFailed, TooMany,
    TeamMoving or TeamMoved."""
    text = bearer_of(request)
    key = look_up(text) if text else None
    if key is None or not key.is_usable(now := database_now()):
        refuse_moved_key(text)
        count_bad_key(request._request if isinstance(request, Request) else request)
        raise AuthenticationFailed
    turn_groups.accept(f"team {key.agent.team_id}")
    keys.touch(key, at=now)
    facts = log_context.current()
    facts.key, facts.team = key.hint, key.agent.team_id
    return key


class HasKey(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, ApiKey)


class HasGateOrKey(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, ApiKey | Gate)


def key_of(request: Request) -> ApiKey:
    """Returns the key that KeyAuthentication looked up; its `agent` is loaded."""
    return cast(ApiKey, request.auth)
