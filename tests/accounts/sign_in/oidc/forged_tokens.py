"""Makes ID tokens that a provider did not sign."""

from __future__ import annotations

import base64
import json
from typing import Any

from joserfc import jwt
from joserfc.jwk import OctKey

from tests.accounts.sign_in.oidc.mock_provider import Claims, MockProvider, new_key


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def none_at_all(provider: MockProvider, claims: Claims) -> str:
    return f"{encoded({'alg': 'none'})}.{encoded(claims)}."


def with_the_public_key(provider: MockProvider, claims: Claims) -> str:
    """Signs with HS256. The secret of this signature is the provider's public key, which everyone
    can read."""
    public = OctKey.import_key(provider.key.as_pem(private=False))
    return jwt.encode({"alg": "HS256", "kid": "first"}, claims, public, algorithms=["HS256"])


def with_the_clients_secret(provider: MockProvider, claims: Claims) -> str:
    secret = OctKey.import_key("the secret of a client")
    return jwt.encode({"alg": "HS256", "kid": "first"}, claims, secret, algorithms=["HS256"])


def with_a_key_that_it_brings_along(provider: MockProvider, claims: Claims) -> str:
    own = new_key("own")
    header = {"alg": "RS256", "kid": "first", "jwk": own.as_dict(private=False)}
    return jwt.encode(header, claims, own)


def with_an_unknown_key(provider: MockProvider, claims: Claims) -> str:
    return jwt.encode({"alg": "RS256", "kid": "own"}, claims, new_key("own"))


def changed_after_signing(provider: MockProvider, claims: Claims) -> str:
    header, _, signature = provider._sign(claims).split(".")
    return f"{header}.{encoded(claims | {'sub': 'n-2'})}.{signature}"


def no_token(provider: MockProvider, claims: Claims) -> str:
    return "not.a.token"
