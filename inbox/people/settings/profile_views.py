"""Shows and changes a person's name, time zone and password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts import signals
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooMany, client_address, count_sign_in
from accounts.models import User
from accounts.sign_in.passwords import change_password, has_password, require_password
from database.clock import database_now
from inbox.people.settings.own_forms import PasswordForm, ProfileForm
from inbox.people.settings.profile import change_profile
from pages.page import form_page, page, too_many
from pages.settings import posted, saved, settings_page

CHANGED = "Password changed. You were signed out on every other device."


@form_page
@page
def profile(request: PersonRequest) -> HttpResponse:
    form = ProfileForm(posted(request), initial=_own(request))
    if not form.is_valid():
        return _show(request, form=form)
    now, address = database_now(), client_address(request)
    change_profile(request.user, **form.cleaned_data, at=now, address=address)
    return saved(request, "settings-profile")


@sensitive_post_parameters()
@require_POST
@page
def password(request: PersonRequest) -> HttpResponse:
    """Changes the password. Tries count as sign-ins, so that a page left open is no place to
    guess."""
    require_password(request.user)
    try:
        count_sign_in(request, request.user.email)
    except TooMany as error:
        return too_many(_show(request, wait=error.retry_after), error.retry_after)
    form = PasswordForm(request.user, request.POST)
    if not form.is_valid():
        return _show(request, password_form=form)
    new = form.cleaned_data["new_password1"]
    by, now = actor(request), database_now()
    change_password(request.user, new, by=by)
    signals.other_browsers_signed_out.send(
        sender=User, user=request.user, session=request.session, by=by, at=now
    )
    update_session_auth_hash(request, request.user)
    return saved(request, "settings-profile", CHANGED)


def _show(request: PersonRequest, **context: Any) -> HttpResponse:
    if has_password(request.user):
        context = {"password_form": PasswordForm(request.user), **context}
    context = {"form": ProfileForm(initial=_own(request)), **context}
    return settings_page(request, "inbox/people/settings/profile.html", **context)


def _own(request: PersonRequest) -> dict[str, str]:
    return {"display_name": request.user.display_name, "time_zone": request.user.time_zone}
