"""Shows how a person signs in: two-step sign-in, and browsers to sign out. Asks for the password
before each change."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from accounts.access.requests import PersonRequest, actor
from accounts.models import Passkey, SecondFactor, User
from accounts.sign_in.browsers import sessions, signals
from accounts.sign_in.forms import CodeForm
from accounts.sign_in.oidc.identities import identity_of
from accounts.sign_in.oidc.provider import configured
from accounts.sign_in.passwords.passwords import has_password
from accounts.sign_in.reauthentication import requires_password
from accounts.sign_in.two_step import one_time_codes, second_factor
from accounts.sign_in.two_step.qr_codes import qr_code
from database import encryption
from database.clock import database_now
from pages.confirmation import confirmation_page
from pages.page import form_page, page, too_many
from pages.panels import panels
from pages.redirects import SeeOther
from pages.settings import posted, saved, settings_page

SECRET = "second_factor_secret"  # noqa: S105 - its name in the session, where it is encrypted
SIGNED_OUT_THERE = "Signed out that browser."
ENDED_ALREADY = "That browser was already signed out."
SIGNED_OUT = "Signed out everywhere else."
TURNED_OFF = "Two-step sign-in is off."
APP_REMOVED = "Your app's codes no longer work. Your passkeys do."


@require_safe
@page
def security_settings(request: PersonRequest) -> HttpResponse:
    now, provider = database_now(), configured()
    return settings_page(
        request,
        "accounts/sign_in/security/overview.html",
        now=now,
        provider=provider,
        identity=identity_of(request.user, provider) if provider else None,
        has_password=has_password(request.user),
        provider_hours=settings.WAKE_OIDC_SESSION_HOURS,
        panels=panels("security", request.user, user=request.user, at=now),
        sessions=sessions.sign_ins(request.user, here=request.session, at=now),
        factor=SecondFactor.objects.of(request.user),
        passkeys=list(Passkey.objects.of(request.user)),
        passkeys_sign_in=settings.WAKE_PASSWORDS,
        codes_left=second_factor.recovery_codes_left(request.user),
        longest=sessions.LONGEST.days,
        idle=settings.SESSION_COOKIE_AGE // (24 * 3600),
    )


@require_POST
@page
@requires_password
def sign_out_elsewhere(request: PersonRequest) -> HttpResponse:
    """Signs out the other browser that `browser` names."""
    mark, by, now = request.POST.get("browser", ""), actor(request), database_now()
    ended = sessions.sign_out(request.user, mark, here=request.session, by=by, at=now)
    if ended is not None:
        signals.browser_signed_out.send(
            sender=User, user=request.user, session=ended, by=by, at=now
        )
    message = SIGNED_OUT_THERE if ended is not None else ENDED_ALREADY
    return saved(request, "settings-security", message)


@require_POST
@page
@requires_password
def sign_out_everywhere(request: PersonRequest) -> HttpResponse:
    by, now = actor(request), database_now()
    sessions.sign_out_everywhere(request.user, by=by)
    signals.other_browsers_signed_out.send(
        sender=User, user=request.user, session=request.session, by=by, at=now
    )
    update_session_auth_hash(request, request.user)
    return saved(request, "settings-security", SIGNED_OUT)


@sensitive_post_parameters()
@form_page
@page
@requires_password
def set_up_second_factor(request: PersonRequest) -> HttpResponse:
    """Turns two-step sign-in by an app on. The secret stays in the session until the person types
    one of its codes."""
    if second_factor.has_app(request.user):
        return SeeOther("settings-security")
    secret = _waiting_secret(request)
    form = CodeForm(posted(request))
    if not form.is_valid():
        return _show_secret(request, secret, form)
    codes = second_factor.turn_on(
        request.user, secret, form.typed, by=actor(request), at=database_now()
    )
    if codes is None:
        form.refuse()
        return _show_secret(request, secret, form)
    update_session_auth_hash(request, request.user)
    del request.session[SECRET]
    return show_codes(request, codes)


@form_page
@page
@requires_password
def renew_recovery_codes(request: PersonRequest) -> HttpResponse:
    """Asks for confirmation on GET and shows new codes on POST."""
    if not second_factor.is_on(request.user):
        return SeeOther("settings-security")
    if request.method != "POST":
        return confirmation_page(
            request,
            title="New recovery codes",
            text="Your old recovery codes stop working immediately. You'll see the new ones only "
            "once.",
            action="Create new codes",
            back=reverse("settings-security"),
        )
    return show_codes(request, second_factor.renew_recovery_codes(request.user, by=actor(request)))


@sensitive_post_parameters()
@form_page
@page
@requires_password
def turn_off_second_factor(request: PersonRequest) -> HttpResponse:
    if not second_factor.has_app(request.user):
        return SeeOther("settings-security")
    form = CodeForm(posted(request))
    if not form.is_valid():
        return _ask_to_turn_off(request, form)
    by = actor(request)
    try:
        is_right = second_factor.check(request.user, form.typed, by=by, at=database_now())
    except second_factor.TriesSpent as error:
        minutes = -(-error.retry_after // 60)
        response = _ask_to_turn_off(request, form, minutes=minutes)
        return too_many(response, error.retry_after)
    if not is_right:
        form.refuse()
        return _ask_to_turn_off(request, form)
    second_factor.turn_off(request.user, by=by)
    is_on = second_factor.is_on(request.user)
    return saved(request, "settings-security", APP_REMOVED if is_on else TURNED_OFF)


def _ask_to_turn_off(request: PersonRequest, form: CodeForm, **context: Any) -> HttpResponse:
    has_passkeys = Passkey.objects.of(request.user).exists()
    return settings_page(
        request,
        "accounts/sign_in/security/turn_off.html",
        form=form,
        has_passkeys=has_passkeys,
        **context,
    )


def _waiting_secret(request: PersonRequest) -> str:
    if SECRET not in request.session:
        new = one_time_codes.new_secret()
        request.session[SECRET] = encryption.encrypt(new.encode()).decode()
    return encryption.decrypt(request.session[SECRET].encode()).decode()


def _show_secret(request: PersonRequest, secret: str, form: CodeForm) -> HttpResponse:
    issuer = f"Wake on {request.get_host()}"
    uri = one_time_codes.uri(secret, email=request.user.email, issuer=issuer)
    groups = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
    context: dict[str, Any] = {"qr": qr_code(uri), "uri": uri, "secret": groups}
    context["required_by"] = second_factor.teams_requiring(request.user)
    return settings_page(request, "accounts/sign_in/security/set_up.html", form=form, **context)


def show_codes(request: PersonRequest, codes: list[str]) -> HttpResponse:
    """Shows the recovery codes without a redirect. Only hashes of the codes are stored, so the
    codes cannot be shown again."""
    return settings_page(request, "accounts/sign_in/security/recovery_codes.html", codes=codes)
