"""Asks for the password again before sensitive actions. A given password stays fresh for 15
minutes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters

from accounts.access.requests import PersonRequest
from accounts.audit import Actor, record
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.sign_in.browsers import sessions
from accounts.sign_in.forms import ConfirmPasswordForm
from accounts.sign_in.limits import count_sign_in, may_record_failure
from accounts.sign_in.oidc.identities import identity_of
from accounts.sign_in.oidc.provider import configured
from accounts.sign_in.passwords.passwords import has_password, require_password
from database.clock import database_now
from pages.page import form_page, page, too_many
from pages.redirects import SeeOther, next_path, page_of_the_form, see_path

P = ParamSpec("P")


def requires_password(
    view: Callable[Concatenate[PersonRequest, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Requires a fresh password; goes below `@page`. If the password is not fresh, the posted data
    is not stored, and the person returns to the page of the form."""

    @wraps(view)
    def guarded(request: PersonRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return ask_if_stale(request) or view(request, *args, **kwargs)

    return guarded


def ask_if_stale(request: PersonRequest) -> HttpResponse | None:
    """Sends the person to the form for their password; returns None if they gave it recently. This
    function is for views that need a fresh password only for some requests."""
    if sessions.is_password_fresh(request.session, at=database_now()):
        return None
    to = page_of_the_form(request) if request.method == "POST" else request.get_full_path()
    return SeeOther("confirm-password", query=urlencode({"next": to}))


@sensitive_post_parameters()
@form_page
@page
def confirm_password(request: PersonRequest) -> HttpResponse:
    """Shows and checks the form. Attempts count as sign-ins, so that no one can guess passwords on
    a page that was left open."""
    if request.method != "POST":
        return _ask(request, ConfirmPasswordForm(request.user))
    require_password(request.user)
    try:
        count_sign_in(request, request.user.email)
    except TooManyRequests as error:
        empty = ConfirmPasswordForm(request.user)
        return too_many(_ask(request, empty, wait=error.retry_after), error.retry_after)
    form = ConfirmPasswordForm(request.user, request.POST)
    if not form.is_valid():
        _audit(request, form)
        return _ask(request, form)
    sessions.confirmed(request.session, sessions.PWD, at=database_now())
    return see_path(next_path(request))


def _ask(request: PersonRequest, form: ConfirmPasswordForm, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    provider = configured()
    context = {
        "form": form,
        "next": next_path(request),
        "has_password": has_password(request.user),
        "provider": provider if provider and identity_of(request.user, provider) else None,
        **context,
    }
    return render(request, "accounts/sign_in/reauthentication.html", context, status=status)


def _audit(request: PersonRequest, form: ConfirmPasswordForm) -> None:
    if form.has_error("password", "wrong") and may_record_failure(request):
        by = Actor("nobody", address=client_address(request))
        record("person.password_refused", by=by, of=request.user, team=None)
