"""Exchanges a code for an ID token, and checks the token (OpenID Connect Core 1.0, 3.1.3)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_token_request
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from accounts.sign_in.oidc import documents, outgoing
from accounts.sign_in.oidc.authorization import Attempt
from accounts.sign_in.oidc.problems import BadAnswer, SignInExpired
from accounts.sign_in.oidc.provider import Provider

log = logging.getLogger(__name__)

LEEWAY_SECONDS = 60
# Only algorithms with a private and a public key are accepted. `none` is no signature. HS256
# verifies with the key that signs, and Wake verifies with public keys. So anyone could sign a token
# with HS256.
KEY_TYPES = {
    f"{family}{bits}": kind
    for family, kind in {"RS": "RSA", "PS": "RSA", "ES": "EC"}.items()
    for bits in (256, 384, 512)
}
LONGEST_SUBJECT = 255
ABOUT_THE_ADDRESS = ("email_verified", "xms_edov")
YES = (True, "true", "1")  # some providers send text; a number 1 equals True


@dataclass(frozen=True, slots=True)
class Account:
    """Describes an account at the provider, from a verified token. `directory_id` is its id in the
    company's directory, or empty. `groups` is None if the provider sent no groups.
    `authenticated_at` is 0 if the provider did not send the time at which it asked the person."""

    subject: str
    directory_id: str
    email: str
    is_email_verified: bool
    name: str
    groups: frozenset[str] | None
    authenticated_at: float
    used_second_factor: bool


def redeem(provider: Provider, code: str, *, attempt: Attempt, at: datetime) -> Account:
    """Returns the account of this code. Raises a Problem."""
    answer = _exchange(provider, code, attempt=attempt, at=at)
    id_token, access_token = answer.get("id_token"), answer.get("access_token")
    if not isinstance(id_token, str) or not isinstance(access_token, str | None):
        raise _refused("the answer has no ID token")
    claims = _verified(
        id_token, provider, nonce=attempt.nonce, access_token=access_token or "", at=at
    )
    if access_token and _lacks(claims, provider):
        claims = _with_user_info(claims, provider, access_token, at=at)
    return _account(claims, provider)


def _exchange(provider: Provider, code: str, *, attempt: Attempt, at: datetime) -> dict[str, Any]:
    metadata = documents.configuration(provider, at=at)
    body = prepare_token_request(
        "authorization_code",
        code=code,
        redirect_uri=attempt.redirect_uri,
        code_verifier=attempt.verifier,
    )
    url, headers, body = ClientAuth(
        provider.client_id, provider.client_secret, _client_method(provider, metadata)
    ).prepare("POST", metadata["token_endpoint"], {}, body)
    status, text = outgoing.post(url, body=body, headers=headers)
    answer = outgoing.object_of(text)
    if status == 200:
        return answer
    if answer.get("error") == "invalid_grant":
        raise SignInExpired(SignInExpired.__doc__)
    raise _refused(f"the token endpoint answered {status}: {answer.get('error')!r:.100}")


def _client_method(provider: Provider, metadata: dict[str, Any]) -> str:
    """Returns how Wake authenticates: in a header, unless the provider supports only the form."""
    if not provider.client_secret:
        return "none"
    methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"


def _verified(
    id_token: str, provider: Provider, *, nonce: str, access_token: str, at: datetime
) -> dict[str, Any]:
    """Returns the claims of a token that this provider signed for Wake, for this attempt."""
    try:
        find_key = partial(_find_key, provider=provider, at=at)
        token = jwt.decode(id_token, find_key, algorithms=list(KEY_TYPES))
        claims = CodeIDToken(
            token.claims,
            token.header,
            options={
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
            },
            params={
                "nonce": nonce,
                "client_id": provider.client_id,
                "access_token": access_token,
            },
        )
        claims.validate(now=int(at.timestamp()), leeway=LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError, KeyError, RecursionError) as failure:
        raise _refused(f"the ID token is not valid: {failure!r:.200}") from failure
    subject = claims["sub"]
    if not (subject and len(subject) <= LONGEST_SUBJECT and subject.isprintable()):
        raise _refused("the subject of the ID token is not valid")
    return dict(claims)


def _find_key(token: Any, *, provider: Provider, at: datetime) -> RSAKey | ECKey:
    """Returns the key that the header of the token names. Keys inside the token do not count."""
    header = token.headers()
    kind = KEY_TYPES.get(header.get("alg"))
    if kind is None:
        raise ValueError(f"algorithm {header.get('alg')!r:.20}")
    found = _choose(documents.keys(provider, at=at), kind, header.get("kid"))
    if found is None:
        found = _choose(documents.keys(provider, at=at, newer=True), kind, header.get("kid"))
    if found is None:
        raise ValueError("no such key")
    read: Callable[[Any], RSAKey | ECKey] = RSAKey.import_key if kind == "RSA" else ECKey.import_key
    return read(found)


def _choose(keys: list[dict[str, Any]], kind: str, kid: Any) -> dict[str, Any] | None:
    """Returns the signing key with this id; without an id, the only signing key."""
    fitting = [key for key in keys if key.get("kty") == kind and key.get("use", "sig") == "sig"]
    if kid is not None:
        fitting = [key for key in fitting if key.get("kid") == kid]
        return fitting[0] if fitting else None
    return fitting[0] if len(fitting) == 1 else None


def _lacks(claims: dict[str, Any], provider: Provider) -> bool:
    lacks_groups = bool(provider.groups) and provider.groups_claim not in claims
    return "email" not in claims or lacks_groups


def _with_user_info(
    claims: dict[str, Any], provider: Provider, access_token: str, *, at: datetime
) -> dict[str, Any]:
    """Adds claims that some providers send only at their UserInfo endpoint (section 5.3)."""
    url = documents.configuration(provider, at=at).get("userinfo_endpoint")
    if url is None:
        return claims
    info = outgoing.object_of(outgoing.get(url, bearer=access_token))
    if info.get("sub") != claims["sub"]:
        raise _refused("the UserInfo endpoint answered about another subject")
    if "email" not in claims:
        claims = {key: value for key, value in claims.items() if key not in ABOUT_THE_ADDRESS}
    return info | claims


def _account(claims: dict[str, Any], provider: Provider) -> Account:
    return Account(
        subject=claims["sub"],
        directory_id=_directory_id(claims.get(provider.directory_claim)),
        email=claims["email"] if isinstance(claims.get("email"), str) else "",
        # With xms_edov, Entra ID says that the owner of the domain confirms the address.
        is_email_verified=any(claims.get(name) in YES for name in ABOUT_THE_ADDRESS),
        name=claims["name"] if isinstance(claims.get("name"), str) else "",
        groups=_groups(claims, provider),
        authenticated_at=_seconds(claims.get("auth_time")),
        used_second_factor=provider.always_asks_second_factor or "mfa" in (claims.get("amr") or []),
    )


def _directory_id(value: Any) -> str:
    is_id = isinstance(value, str) and len(value) <= LONGEST_SUBJECT and value.isprintable()
    return value if is_id else ""


def _seconds(value: Any) -> float:
    """Returns a time in seconds since 1970; 0 if there is none."""
    return float(value) if isinstance(value, int | float) and 0 < value < 2**32 else 0.0


def _groups(claims: dict[str, Any], provider: Provider) -> frozenset[str] | None:
    """Returns the groups of the account. If the provider leaves the claim out, the account has no
    groups. Returns None if the account has so many groups that the provider leaves the claim out
    for that reason."""
    overflow = claims.get("_claim_names")
    if not provider.groups:
        return None
    if isinstance(overflow, dict) and provider.groups_claim in overflow:
        log.warning("The sign-in provider named too many groups; send fewer (docs/sign-in.md)")
        return None
    found = claims.get(provider.groups_claim, [])
    names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(name for name in names if isinstance(name, str))


def _refused(reason: str) -> BadAnswer:
    log.warning("A sign-in with the provider was refused: %s", reason)
    return BadAnswer(BadAnswer.__doc__)
