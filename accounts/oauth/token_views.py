"""Exchanges codes and refresh tokens for access tokens, and revokes tokens (RFC 6749, RFC 7009)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from oauth2_provider.models import Grant
from oauth2_provider.views import RevokeTokenView, TokenView

from accounts.oauth.device import exchange
from accounts.oauth.limits import count_token_request
from accounts.oauth.protocol_errors import error, limited

CODE, REFRESH = "authorization_code", "refresh_token"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
# oauthlib leaves these out of some errors (RFC 6749, 5.2).
ALWAYS = {"Content-Type": "application/json", "Cache-Control": "no-store"}


@method_decorator(limited(count_token_request), name="dispatch")
class ClientTokenView(TokenView):  # type: ignore[misc]
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        grant_type = request.POST.get("grant_type")
        if grant_type == DEVICE_CODE:
            return exchange.answer(request)
        if grant_type not in {CODE, REFRESH}:
            known = f"{CODE}, {REFRESH} or {DEVICE_CODE}"
            return error("unsupported_grant_type", f"grant_type must be {known}.")
        if grant_type == REFRESH and not request.POST.get("refresh_token"):
            return error("invalid_request", "refresh_token is missing.")
        # The method of the parent reads the token again, and fails if the grant has ended since.
        try:
            _, headers, body, status = self.create_token_response(request)
        except Grant.DoesNotExist:
            return error("invalid_grant", "Another request has just exchanged this code.")
        return HttpResponse(body, status=status, headers=ALWAYS | headers)


@method_decorator(limited(count_token_request), name="dispatch")
class ClientRevocationView(RevokeTokenView):  # type: ignore[misc]
    """Answers 200 for a token that does not exist, as RFC 7009 asks."""
