"""Exchanges challenges and signatures with the script of a page (static/js/passkey.js). The script
asks for options, lets the browser sign, and posts the form of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from webauthn.helpers.structs import AuthenticationCredential

from accounts.audit import Actor, record
from accounts.limits.throttles import client_address
from accounts.models import Passkey, User
from accounts.sign_in.limits import count_sign_in, may_record_failure
from accounts.sign_in.passkeys import assertions, challenges
from accounts.sign_in.passkeys.challenges import Purpose
from accounts.sign_in.passkeys.refusals import PasskeyRefused, UnknownPasskey
from accounts.sign_in.passkeys.relying_parties import RelyingParty, relying_party
from database.clock import database_now


@dataclass(frozen=True, slots=True)
class Proof:
    """Holds a passkey, and the checked response of the browser that used it."""

    passkey: Passkey
    credential: AuthenticationCredential


def as_it_is(random: bytes) -> bytes:
    return random


def cookie_name() -> str:
    return "__Host-passkey" if settings.SESSION_COOKIE_SECURE else "passkey"


def offer(
    request: HttpRequest,
    purpose: Purpose,
    options: Callable[[RelyingParty, bytes], dict[str, Any]],
    *,
    of: User | None = None,
) -> HttpResponse:
    """Answers with the options for the browser, and stores their challenge in a cookie."""
    party = relying_party(request.get_host())
    if party is None:
        return JsonResponse({"error": str(PasskeyRefused())}, status=409)
    challenge, text = challenges.make(purpose, of=of, at=database_now())
    response = JsonResponse(options(party, challenge))
    response.set_cookie(
        cookie_name(),
        text,
        max_age=challenges.LASTS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def taken(request: HttpRequest, purpose: Purpose, *, of: User | None) -> tuple[RelyingParty, bytes]:
    """Returns the relying party and the challenge for a signature, and uses the challenge up.
    Raises PasskeyRefused."""
    party = relying_party(request.get_host())
    if party is None:
        raise PasskeyRefused
    cookie = request.COOKIES.get(cookie_name(), "")
    return party, challenges.take(cookie, purpose, of=of, at=database_now())


def proved(
    request: HttpRequest,
    purpose: Purpose,
    *,
    of: User | None,
    must_verify: bool,
    challenge_from: Callable[[bytes], bytes] = as_it_is,
) -> Proof:
    """Returns the passkey that signed the challenge. `of` is the person who must have signed, or
    None if that person is not known yet. `challenge_from` makes the challenge from the random bytes
    of the cookie, for a challenge that also covers other data. An attempt counts like an attempt at
    a password. Raises PasskeyRefused and TooManyRequests."""
    user = of
    try:
        try:
            credential = assertions.parse(request.POST.get("credential", ""))
            passkey = assertions.find(credential)
        except PasskeyRefused:
            count_sign_in(request, user.email if user else "")
            raise
        if user is None and passkey is not None:
            user = passkey.user
        count_sign_in(request, user.email if user else "")
        party, random = taken(request, purpose, of=of)
        if passkey is None or user is None or passkey.user_id != user.pk:
            raise UnknownPasskey
        by = Actor("nobody", address=client_address(request))
        assertions.use(
            passkey,
            credential,
            party=party,
            challenge=challenge_from(random),
            must_verify=must_verify,
            by=by,
            at=database_now(),
        )
    except PasskeyRefused as error:
        audit_refusal(request, error, of=user)
        raise
    return Proof(passkey, credential)


def audit_refusal(request: HttpRequest, error: PasskeyRefused, *, of: User | None) -> None:
    """Records the refusal, no more often than wrong passwords."""
    if may_record_failure(request):
        by = Actor("nobody", address=client_address(request))
        record("passkey.refused", by=by, of=of or User(pk=0), team=None, reason=error.reason)
