"""Signs people in with a passkey: instead of the password, or as the second step after the
password. Also confirms a sensitive change with a passkey."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.access.requests import PersonRequest
from accounts.limits.throttles import TooManyRequests
from accounts.sign_in.browsers import sessions
from accounts.sign_in.pages.views import finish_sign_in, passwords_are_off, sign_in
from accounts.sign_in.passkeys.assertions import request_options
from accounts.sign_in.passkeys.ceremonies import offer, proved
from accounts.sign_in.passkeys.challenges import Purpose
from accounts.sign_in.passkeys.refusals import PasskeyRefused
from accounts.sign_in.two_step import pending_second_factor
from database.clock import database_now
from pages.page import page
from pages.redirects import SeeOther, next_path, see_path


@require_POST
@never_cache
def offer_sign_in(request: HttpRequest) -> HttpResponse:
    return offer(request, Purpose.SIGN_IN, partial(request_options, of=None, must_verify=True))


@require_POST
@never_cache
def sign_in_with_passkey(request: HttpRequest) -> HttpResponse:
    """Signs in without a password and without a code, because the device has checked the person.
    While WAKE_PASSWORDS is 0, only the provider signs people in, because only the provider knows
    who has left."""
    if not settings.WAKE_PASSWORDS:
        return passwords_are_off(request)
    to = next_path(request)
    try:
        proof = proved(request, Purpose.SIGN_IN, of=None, must_verify=True)
    except (PasskeyRefused, TooManyRequests) as error:
        return _refused(request, error, "login")
    return sign_in(request, proof.passkey.user, to=to, methods=[sessions.HWK])


@require_POST
@never_cache
def offer_second_step(request: HttpRequest) -> HttpResponse:
    user = pending_second_factor.person_of(request.session, at=database_now())
    if user is None:
        return SeeOther("login")
    options = partial(request_options, of=user, must_verify=False)
    return offer(request, Purpose.SECOND_STEP, options, of=user)


@require_POST
@never_cache
def take_second_step(request: HttpRequest) -> HttpResponse:
    """Takes a passkey after the password. The password has identified the person, so the device
    need not check them."""
    user = pending_second_factor.person_of(request.session, at=database_now())
    if user is None:
        return SeeOther("login")
    try:
        proved(request, Purpose.SECOND_STEP, of=user, must_verify=False)
    except (PasskeyRefused, TooManyRequests) as error:
        return _refused(request, error, "sign-in-code")
    return finish_sign_in(request, user, method=sessions.HWK)


@require_POST
@page
def offer_confirmation(request: PersonRequest) -> HttpResponse:
    options = partial(request_options, of=request.user, must_verify=True)
    return offer(request, Purpose.CONFIRM, options, of=request.user)


@require_POST
@page
def confirm_with_passkey(request: PersonRequest) -> HttpResponse:
    """Takes a passkey instead of the password when Wake asks for the password again."""
    to = next_path(request)
    try:
        proved(request, Purpose.CONFIRM, of=request.user, must_verify=True)
    except (PasskeyRefused, TooManyRequests) as error:
        return _refused(request, error, "confirm-password")
    sessions.confirmed(request.session, sessions.HWK, at=database_now())
    return see_path(to)


def _refused(
    request: HttpRequest, error: PasskeyRefused | TooManyRequests, name: str
) -> HttpResponse:
    """Returns to the page of the form. That page shows the reason."""
    if isinstance(error, TooManyRequests):
        messages.warning(request, f"Too many attempts. Try again in {error.retry_after} s.")
    else:
        messages.warning(request, str(error))
    to = request.POST.get("next", "")
    return SeeOther(name, query=urlencode({"next": to}) if to else "")
