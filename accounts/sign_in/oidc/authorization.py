"""Sends a person to the provider, and reads the answer when they come back (RFC 6749, section 4.1).

The data of one attempt (state, nonce, PKCE verifier, next path) is in the session of the browser
that began it. This data is encrypted, valid for ten minutes, and used once.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from django.contrib.sessions.backends.base import SessionBase
from django.http import QueryDict

from accounts.sign_in.oidc import documents
from accounts.sign_in.oidc.problems import BadAnswer, SignInCancelled, SignInExpired
from accounts.sign_in.oidc.provider import Provider
from database import encryption

SESSION_KEY = "oidc_attempts"
HOLDS = timedelta(minutes=10)
MAX_ATTEMPTS = 5  # tabs of one browser that may sign in at the same time
SIGN_IN, CONNECT, AGAIN = "sign-in", "connect", "again"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Holds the data that Wake remembers while a person is at the provider. `to` is a path of our
    site; `person` is the id of the person who was signed in."""

    purpose: str
    to: str
    redirect_uri: str
    began_at: float
    nonce: str
    verifier: str
    person: int | None = None
    invitation: str = ""
    time_zone: str = ""


def begin(
    session: SessionBase,
    provider: Provider,
    purpose: str,
    *,
    to: str,
    redirect_uri: str,
    at: datetime,
    person: int | None = None,
    invitation: str = "",
    time_zone: str = "",
) -> str:
    """Returns the address at the provider to which the browser is sent. Raises a Problem."""
    endpoint = documents.configuration(provider, at=at)["authorization_endpoint"]
    state = secrets.token_urlsafe(32)
    attempt = Attempt(
        purpose=purpose,
        to=to,
        redirect_uri=redirect_uri,
        began_at=at.timestamp(),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        person=person,
        invitation=invitation,
        time_zone=time_zone,
    )
    _keep(session, state, attempt)
    uri: str = prepare_grant_uri(
        endpoint,
        client_id=provider.client_id,
        response_type="code",
        redirect_uri=redirect_uri,
        scope=provider.scopes,
        state=state,
        nonce=attempt.nonce,
        code_challenge=create_s256_code_challenge(attempt.verifier),
        code_challenge_method="S256",
        **_asking_again(provider, purpose),
    )
    return uri


def finish(
    session: SessionBase, provider: Provider, answer: QueryDict, *, at: datetime
) -> tuple[Attempt, str]:
    """Returns the attempt of this answer by the provider, and the code. Raises a Problem."""
    attempt = _take(session, answer.get("state", ""), at=at)
    _check_issuer(provider, answer, at=at)
    if "error" in answer:
        raise SignInCancelled(SignInCancelled.__doc__)
    code = answer.get("code", "")
    if not code:
        raise BadAnswer(BadAnswer.__doc__)
    return attempt, code


def _asking_again(provider: Provider, purpose: str) -> dict[str, str]:
    """Returns the parameters that make the provider ask the person to sign in, even if they are
    signed in there already. A stranger may have left this browser signed in to the stranger's own
    account at the provider. Without the question, Wake would connect that account to the person."""
    if purpose == SIGN_IN or not provider.asks_again:
        return {}
    return {"prompt": "login", "max_age": "0"}


def _check_issuer(provider: Provider, answer: QueryDict, *, at: datetime) -> None:
    """Refuses an answer that another provider may have sent (RFC 9207)."""
    metadata = documents.configuration(provider, at=at)
    is_promised = metadata.get("authorization_response_iss_parameter_supported") is True
    issuer = answer.get("iss")
    if (issuer is None and is_promised) or (issuer is not None and issuer != provider.issuer):
        raise BadAnswer(BadAnswer.__doc__)


def _keep(session: SessionBase, state: str, attempt: Attempt) -> None:
    attempts: dict[str, str] = session.get(SESSION_KEY, {})
    newest = dict(list(attempts.items())[1 - MAX_ATTEMPTS :])
    newest[_digest(state)] = encryption.encrypt(json.dumps(asdict(attempt)).encode()).decode()
    session[SESSION_KEY] = newest


def _take(session: SessionBase, state: str, *, at: datetime) -> Attempt:
    """Uses the attempt up immediately, so that the same answer does not count twice, even while
    Wake asks the provider about it."""
    attempts: dict[str, str] = session.get(SESSION_KEY, {})
    kept = attempts.pop(_digest(state), None)
    if kept is None:
        raise SignInExpired(SignInExpired.__doc__)
    session[SESSION_KEY] = attempts
    session.save()
    try:
        values: dict[str, Any] = json.loads(encryption.decrypt(kept.encode()))
    except encryption.Unreadable:  # the encryption key was removed in the meantime
        raise SignInExpired(SignInExpired.__doc__) from None
    attempt = Attempt(**values)
    if at.timestamp() - attempt.began_at > HOLDS.total_seconds():
        raise SignInExpired(SignInExpired.__doc__)
    return attempt


def _digest(state: str) -> str:
    return hashlib.sha256(state.encode()).hexdigest()
