"""Ties the codes and tokens of django-oauth-toolkit to grants, and refuses what OAuth 2.1 does not
allow."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from oauth2_provider.models import Application, RefreshToken
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors

from accounts.audit import agent_actor
from accounts.models import OAuthGrant
from accounts.oauth import grants
from accounts.oauth.clients import is_safe_redirect
from accounts.oauth.registration.metadata import is_storable
from database.clock import database_now

MAX_CLIENT_ID = 255


class Validator(OAuth2Validator):  # type: ignore[misc] # django-oauth-toolkit has no types
    """Knows the grant of each code and token. The consent page puts the new grant on oauthlib's
    request as `oauth_grant`."""

    def _load_application(self, client_id: str | None, request: Any) -> Application | None:
        """Finds no client for an id that PostgreSQL or the column cannot hold."""
        if not client_id or len(client_id) > MAX_CLIENT_ID or not is_storable(client_id):
            return None
        return super()._load_application(client_id, request)

    def _extract_basic_auth(self, request: Any) -> str | None:
        """Ignores credentials that are not ASCII, with which the parent fails."""
        credentials: str | None = super()._extract_basic_auth(request)
        return credentials if credentials and credentials.isascii() else None

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        is_registered = super().validate_redirect_uri(client_id, redirect_uri, request)
        return is_registered and is_safe_redirect(redirect_uri)

    def validate_code(
        self,
        client_id: str,
        code: str,
        client: Application,
        request: Any,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        """Ends the grant if the code was exchanged before, because then someone else may have it
        (RFC 6749, 4.1.2)."""
        grant, now = grants.of_code(code, client), database_now()
        if grant is None:
            return False
        if grant.is_exchanged:
            grants.end(grant, by=agent_actor(grant.key.agent), at=now)
            return False
        request.oauth_grant = grant
        is_valid = super().validate_code(client_id, code, client, request)
        return is_valid and grants.may_continue(grant, at=now)

    def validate_refresh_token(
        self, refresh_token: str, client: Application, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Ends the grant if the token was used before (RFC 9700, 4.14.2)."""
        stored = _stored_refresh_token(refresh_token, client)
        grant, now = grants.of_family(stored.token_family if stored else None), database_now()
        if stored is None or grant is None:
            return False
        if stored.revoked is not None:
            grants.end(grant, by=agent_actor(grant.key.agent), at=now)
        is_valid = super().validate_refresh_token(refresh_token, client, request)
        request.oauth_grant = grant
        return is_valid and grants.may_continue(grant, at=now)

    def save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Leaves out the refresh token if the client did not ask to stay connected."""
        if "offline_access" not in token.get("scope", "").split():
            token.pop("refresh_token", None)
        return super().save_bearer_token(token, request, *args, **kwargs)

    def _save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Locks the grant, so that of two requests with one code or token only one gets tokens."""
        grant = getattr(request, "oauth_grant", None)
        if grant is None:
            raise errors.InvalidGrantError(request=request)
        try:
            held = grants.hold(grant, at=database_now())
        except grants.NotExchangeable:
            raise errors.InvalidGrantError(request=request) from None
        if _is_used(held, request):
            raise errors.InvalidGrantError(request=request)
        return super()._save_bearer_token(token, request, *args, **kwargs)

    def _create_access_token(
        self, expires: datetime, request: Any, token: Any, source_refresh_token: Any = None
    ) -> Any:
        stored = super()._create_access_token(expires, request, token, source_refresh_token)
        grants.renew(request.oauth_grant, digest=stored.token_checksum, expires_at=expires)
        if request.grant_type == "authorization_code":
            # A client that does not stay connected has a family without refresh tokens.
            OAuthGrant.objects.filter(pk=request.oauth_grant.pk).update(family=uuid4())
        return stored

    def _create_refresh_token(self, request: Any, *args: Any) -> Any:
        stored = super()._create_refresh_token(request, *args)
        OAuthGrant.objects.filter(pk=request.oauth_grant.pk).update(family=stored.token_family)
        return stored

    def _create_authorization_code(self, request: Any, code: Any, expires: Any = None) -> Any:
        request.resource = [settings.WAKE_OAUTH_RESOURCE]
        request.nonce = request.claims = None  # of OpenID Connect, and of any length
        stored = super()._create_authorization_code(request, code, expires)
        grants.remember_code(request.oauth_grant, code["code"])
        return stored

    def revoke_token(
        self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any
    ) -> None:
        """Ends the grant of an access token or a refresh token of this client (RFC 7009)."""
        stored = _stored_refresh_token(token, request.client)
        grant = grants.of_family(stored.token_family if stored else None)
        grant = grant or grants.of_access_token(token, request.client)
        super().revoke_token(token, token_type_hint, request, *args, **kwargs)
        if grant is not None:
            grants.end(grant, by=agent_actor(grant.key.agent), at=database_now())


def _stored_refresh_token(text: str, application: Application) -> RefreshToken | None:
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return RefreshToken.objects.filter(token_checksum=checksum, application=application).first()


def _is_used(held: OAuthGrant, request: Any) -> bool:
    """Returns whether another request was faster. Only the holder of the lock may decide this."""
    if request.grant_type == "authorization_code":
        return held.is_exchanged
    used = RefreshToken.objects.filter(pk=request.refresh_token_instance.pk, revoked__isnull=False)
    return bool(used.exists())
