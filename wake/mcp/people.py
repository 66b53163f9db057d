"""Takes MCP from clients that people signed in by OAuth (docs/connect.md). Everything else is as
with a key."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request

from accounts.models import Agent, ApiKey
from accounts.oauth import grants
from wake.api.authentication import KeyAuthentication, authenticated
from wake.api.errors import plain_error
from wake.mcp.http_errors import as_json_rpc, id_in
from wake.mcp.views import McpView

SIGN_IN = (
    "A person must connect this client again: sign in with OAuth, as the WWW-Authenticate header "
    "says. For the key of an agent, use the address /mcp."
)


class GrantAuthentication(KeyAuthentication):
    """Looks up the access token of a request. A key of an agent is refused, as a token is refused
    everywhere else (RFC 8707)."""

    def authenticate(self, request: Request) -> tuple[Agent, ApiKey]:
        key = authenticated(request, grants.look_up)
        return key.agent, key


class PeoplesMcpView(McpView):
    authentication_classes = [GrantAuthentication]
    shows_cards = True

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        answer = super().get_exception_handler()

        def answer_with_challenge(exception: Exception, context: Any) -> HttpResponse | None:
            refusal = answer(exception, context)
            if refusal is None or refusal.status_code != HTTPStatus.UNAUTHORIZED:
                return refusal
            refusal = plain_error(HTTPStatus.UNAUTHORIZED, "unauthorized", SIGN_IN)
            refusal["WWW-Authenticate"] = _challenge(self.request)
            return as_json_rpc(refusal, id_in(self.body))

        return answer_with_challenge


def _challenge(request: Request) -> str:
    """Returns the challenge that leads a client to the authorization server (RFC 9728, 5.1)."""
    metadata = settings.WAKE_ORIGIN + reverse("protected-resource")
    error = ', error="invalid_token"' if "Authorization" in request.headers else ""
    return f'Bearer resource_metadata="{metadata}", scope="deliver offline_access"{error}'
