"""Registers clients (RFC 7591), and lets a client change or remove its registration (RFC 7592)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from oauth2_provider.views import (
    DynamicClientRegistrationManagementView,
    DynamicClientRegistrationView,
)

from accounts.limits.throttles import TooManyRequests
from accounts.oauth import grants
from accounts.oauth.clients import is_safe_redirect
from accounts.oauth.limits import count_registration, count_token_request
from accounts.oauth.protocol_errors import error, limited, too_many
from accounts.oauth.registration.metadata import asks_for_codes, is_storable, with_offered_grants
from database.clock import database_now

MAX_BYTES = 16_384
MAX_REDIRECTS = 20
# The metadata that oauth2_provider reads.
READ = (
    *("redirect_uris", "client_name", "grant_types", "token_endpoint_auth_method"),
    "response_types",
)


class RegistrationView(DynamicClientRegistrationView):  # type: ignore[misc]
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if refusal := _refusal(request.body):
            return refusal
        try:
            count_registration(request)
        except TooManyRequests as limit:
            return too_many(limit.retry_after)
        request.user = AnonymousUser()  # machines skip the middleware that knows people
        return _completed(super().post(_reduced(request), *args, **kwargs))


@method_decorator(limited(count_token_request), name="dispatch")
class RegistrationManagementView(DynamicClientRegistrationManagementView):  # type: ignore[misc]
    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _completed(super().get(request, *args, **kwargs))

    def put(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if refusal := _refusal(request.body):
            return refusal
        return _completed(super().put(_reduced(request), *args, **kwargs))

    @transaction.atomic
    def delete(
        self, request: HttpRequest, client_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Ends the client's grants, too (RFC 7592, 2.3)."""
        now = database_now()
        grants_of_client = list(grants.open_of(client_id, at=now)) if is_storable(client_id) else []
        response: HttpResponse = super().delete(request, client_id, *args, **kwargs)
        if response.status_code == HTTPStatus.NO_CONTENT:
            grants.end_all(grants_of_client, at=now)
        return response


def _refusal(body: bytes) -> HttpResponse | None:
    """Refuses what oauth2_provider would store or stumble over."""
    if len(body) > MAX_BYTES:
        return error("invalid_client_metadata", f"Send at most {MAX_BYTES} bytes.", status=413)
    try:
        metadata = json.loads(body)
    except (ValueError, RecursionError):
        return error("invalid_client_metadata", "Send a JSON object.")
    if not isinstance(metadata, dict):
        return error("invalid_client_metadata", "Send a JSON object.")
    if not is_storable([metadata.get(name) for name in READ]):
        return error("invalid_client_metadata", "U+0000 and half a character are not allowed.")
    if not isinstance(metadata.get("client_name", ""), str):
        return error("invalid_client_metadata", "client_name must be a string.")
    if not asks_for_codes(metadata):
        return error("invalid_client_metadata", "grant_types must have authorization_code.")
    return _refused_redirects(metadata.get("redirect_uris"))


def _reduced(request: HttpRequest) -> HttpRequest:
    """Returns the request with reduced metadata. oauth2_provider reads the body again."""
    metadata = with_offered_grants(json.loads(request.body))
    request._body = json.dumps(metadata).encode()
    return request


def _completed(response: HttpResponse) -> HttpResponse:
    """Adds what RFC 7591 (section 3.2.1) requires and oauth2_provider leaves out. Names the
    registration at this server's origin, because oauth2_provider takes the scheme and the host of
    the request. Behind a proxy, the client would then send its token by http."""
    response["Cache-Control"] = "no-store"
    client = json.loads(response.content)
    if "client_secret" in client:
        client["client_secret_expires_at"] = 0
    if address := client.get("registration_client_uri"):
        client["registration_client_uri"] = settings.WAKE_ORIGIN + urlsplit(address).path
    response.content = json.dumps(client)
    return response


def _refused_redirects(uris: Any) -> HttpResponse | None:
    if not isinstance(uris, list) or not 1 <= len(uris) <= MAX_REDIRECTS:
        return error("invalid_redirect_uri", f"Send 1 to {MAX_REDIRECTS} redirect_uris.")
    if not all(isinstance(uri, str) and is_safe_redirect(uri) for uri in uris):
        return error(
            "invalid_redirect_uri",
            "A redirect URI needs https. Plain http is only for 127.0.0.1, [::1] and localhost.",
        )
    return None
