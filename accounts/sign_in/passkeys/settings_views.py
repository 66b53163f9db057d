"""Lets people add, rename and remove their passkeys."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.access.requests import PersonRequest, actor
from accounts.models import Passkey
from accounts.sign_in.browsers import user_agents
from accounts.sign_in.pages.security_views import show_codes
from accounts.sign_in.passkeys import registration
from accounts.sign_in.passkeys.ceremonies import audit_refusal, offer, taken
from accounts.sign_in.passkeys.challenges import Purpose
from accounts.sign_in.passkeys.forms import PasskeyForm
from accounts.sign_in.passkeys.public_keys import fingerprint
from accounts.sign_in.passkeys.refusals import PasskeyRefused
from accounts.sign_in.passkeys.relying_parties import relying_party, where_they_work
from accounts.sign_in.reauthentication import requires_password
from accounts.sign_in.two_step import second_factor
from database.clock import database_now
from pages.confirmation import confirmation_page
from pages.page import form_page, page
from pages.settings import posted, saved, settings_page

ADDED = "Passkey added. You can sign in with it."
ADDED_WITHOUT_PASSWORDS = (
    "Passkey added. It is your second step after you sign in with your provider."
)
TURNS_OFF = "It is your last one, so this turns two-step sign-in off. "
SIGNS_OUT = (
    "It can no longer sign you in, and you are signed out on every other device. "
    "Delete it on your device, too: Wake can't."
)
REMOVED = "Passkey removed. You were signed out on every other device."


@form_page
@page
@requires_password
def add_passkey(request: PersonRequest) -> HttpResponse:
    """Adds the passkey that the browser has created."""
    browser = user_agents.in_words(request.headers.get("User-Agent", ""))
    form = PasskeyForm(posted(request), initial={"name": browser})
    if not form.is_valid():
        return _ask(request, form)
    try:
        party, challenge = taken(request, Purpose.ADD, of=request.user)
        codes = registration.add(
            request.user,
            request.POST.get("credential", ""),
            name=form.cleaned_data["name"],
            party=party,
            challenge=challenge,
            by=actor(request),
            at=database_now(),
        )
    except PasskeyRefused as error:
        audit_refusal(request, error, of=request.user)
        form.add_error(None, str(error))
        return _ask(request, form)
    if not codes:
        message = ADDED if settings.WAKE_PASSWORDS else ADDED_WITHOUT_PASSWORDS
        return saved(request, "settings-security", message)
    update_session_auth_hash(request, request.user)
    return show_codes(request, codes)


@require_POST
@page
@requires_password
def offer_new_passkey(request: PersonRequest) -> HttpResponse:
    options = partial(registration.creation_options, request.user)
    return offer(request, Purpose.ADD, options, of=request.user)


@form_page
@page
def passkey_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Shows one passkey, to rename or remove it."""
    passkey = _find(request, pk)
    form = PasskeyForm(posted(request), initial={"name": passkey.name})
    if not form.is_valid():
        now = database_now()
        return settings_page(
            request,
            "accounts/sign_in/passkeys/passkey.html",
            form=form,
            passkey=passkey,
            fingerprint=fingerprint(passkey),
            now=now,
        )
    registration.rename(passkey, form.cleaned_data["name"], by=actor(request))
    return saved(request, "settings-security")


@form_page
@page
@requires_password
def remove_passkey(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Asks for confirmation on GET and removes on POST."""
    passkey = _find(request, pk)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Remove the passkey “{passkey.name}”",
            text=f"{TURNS_OFF if _is_last(request) else ''}{SIGNS_OUT}",
            action="Remove passkey",
            back=reverse("settings-security"),
        )
    registration.remove(passkey, by=actor(request), at=database_now())
    request.user.refresh_from_db(fields=["session_epoch"])
    update_session_auth_hash(request, request.user)
    is_on = second_factor.is_on(request.user)
    return saved(
        request, "settings-security", REMOVED if is_on else f"{REMOVED} Two-step sign-in is off."
    )


def _is_last(request: PersonRequest) -> bool:
    """Returns whether two-step sign-in would be off without this passkey."""
    has_one = Passkey.objects.of(request.user).count() == 1
    return has_one and not second_factor.has_app(request.user)


def _find(request: PersonRequest, pk: UUID) -> Passkey:
    return get_object_or_404(Passkey.objects.of(request.user), pk=pk)


def _ask(request: PersonRequest, form: PasskeyForm) -> HttpResponse:
    host = request.get_host()
    return settings_page(
        request,
        "accounts/sign_in/passkeys/passkey_new.html",
        form=form,
        works_here=relying_party(host) is not None,
        works_at=where_they_work(host),
        required_by=second_factor.teams_requiring(request.user),
        is_first=not second_factor.is_on(request.user),
        is_full=Passkey.objects.of(request.user).count() >= registration.MAX_PASSKEYS,
        most=registration.MAX_PASSKEYS,
    )
