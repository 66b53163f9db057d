"""Lets people change the address with which they sign in, and undo a change that they did not
request."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from accounts.access.requests import PersonRequest
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.sign_in.addresses import changes as address_changes
from accounts.sign_in.addresses.forms import AddressForm
from accounts.sign_in.browsers import known_browsers
from accounts.sign_in.limits import count_reset_mail
from accounts.sign_in.passwords import resets as password_resets
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.mail import is_printed
from pages.page import form_page, page, too_many
from pages.redirects import SeeOther
from pages.settings import posted, saved, settings_page
from pages.times import amount

MAILED = "We e-mailed a link to {email}, if that address is free. Open it in this browser."
TOO_MANY = "Nothing was sent: we e-mailed this address too often. Try again in {wait}."
CHANGED = "Address changed. You were signed out on every other device."
RESTORED = "Address restored. We e-mailed you a link to set a new password."


@form_page
@page
@requires_password
def change_address(request: PersonRequest) -> HttpResponse:
    """Answers in the same way whether or not another person has the new address."""
    form = AddressForm(request.user, posted(request))
    if not form.is_valid() or not settings.WAKE_SENDS_MAIL:
        return _ask(request, form)
    email, now = form.cleaned_data["email"], database_now()
    try:
        count_reset_mail(request, email)
    except TooManyRequests as error:
        wait = amount(timedelta(seconds=error.retry_after))
        form.add_error("email", TOO_MANY.format(wait=wait))
        return too_many(_ask(request, form), error.retry_after)
    address_changes.ask(request.user, email, at=now, address=client_address(request))
    return saved(request, "settings-profile", MAILED.format(email=email))


@form_page
@page
def confirm_address(request: PersonRequest, token: str) -> HttpResponse:
    """Confirms the new address by the link in the mail to it. The link works only for the person
    who requested the change."""
    change = address_changes.find_to_confirm(token, of=request.user, at=database_now())
    if change is None:
        return _ended(request)
    if request.method != "POST":
        return render(
            request, "accounts/sign_in/addresses/confirm_address.html", {"change": change}
        )
    try:
        user = address_changes.confirm(change, at=database_now(), address=client_address(request))
    except address_changes.ChangeEnded:
        return _ended(request)
    update_session_auth_hash(request, user)
    response = saved(request, "settings-profile", CHANGED)
    known_browsers.remember(request, response, user.email)
    return response


@never_cache
@form_page
def restore_address(request: HttpRequest, token: str) -> HttpResponse:
    """Restores the old address by the link in the mail to that address, whether or not the person
    is signed in. Signs no one in."""
    change = address_changes.find_to_undo(token, at=database_now())
    if change is None:
        return _ended(request)
    if request.method != "POST":
        return render(
            request, "accounts/sign_in/addresses/restore_address.html", {"change": change}
        )
    address, now = client_address(request), database_now()
    try:
        user = address_changes.undo(change, at=now, address=address)
    except address_changes.ChangeEnded:
        return _ended(request)
    password_resets.request_reset(user.email, address=address, at=now)
    messages.success(request, RESTORED)
    return SeeOther("login")


def _ask(request: PersonRequest, form: AddressForm) -> HttpResponse:
    sends, prints = settings.WAKE_SENDS_MAIL, is_printed()
    return settings_page(
        request,
        "accounts/sign_in/addresses/address.html",
        form=form,
        sends_mail=sends,
        prints_mail=prints,
    )


def _ended(request: HttpRequest) -> HttpResponse:
    """Answers 410 for a link that was used, was replaced, has expired or belongs to another
    person."""
    return render(request, "accounts/sign_in/addresses/address_ended.html", status=HTTPStatus.GONE)
