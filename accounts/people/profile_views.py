"""Shows and changes a person's name, time zone and password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import User
from accounts.people.forms import PasswordForm, ProfileForm
from accounts.people.profile import change_profile
from accounts.sign_in.browsers import signals
from accounts.sign_in.limits import count_sign_in
from accounts.sign_in.passwords.passwords import change_password, has_password, require_password
from database.clock import database_now
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
    """Changes the password. Attempts count as sign-ins, so that no one can guess passwords on a
    page that was left open."""
    require_password(request.user)
    try:
        count_sign_in(request, request.user.email)
    except TooManyRequests as error:
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
    return settings_page(request, "accounts/people/profile.html", **context)


def _own(request: PersonRequest) -> dict[str, str]:
    return {"display_name": request.user.display_name, "time_zone": request.user.time_zone}
