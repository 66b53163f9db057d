"""Lets people request a password link by mail, and set a new password with it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.audit import person
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import User
from accounts.sign_in.browsers import known_browsers, signals
from accounts.sign_in.forms import NewPasswordForm, ResetForm
from accounts.sign_in.limits import count_reset, may_mail_a_reset
from accounts.sign_in.pages.views import passwords_are_off
from accounts.sign_in.passwords import resets as password_resets
from accounts.sign_in.passwords.passwords import change_password
from database.clock import database_now
from pages.mail import is_printed
from pages.page import form_page, too_many
from pages.redirects import SeeOther

CHANGED = "Password changed. Sign in with your new password."


@never_cache
@form_page
def request_reset(request: HttpRequest) -> HttpResponse:
    """Answers with the same page in the same time, whether or not the address is known."""
    if not settings.WAKE_PASSWORDS:
        return passwords_are_off(request)
    if request.method != "POST":
        return _ask(request, ResetForm())
    try:
        count_reset(request)
    except TooManyRequests as error:
        minutes = -(-error.retry_after // 60)
        return too_many(_ask(request, ResetForm(), minutes=minutes), error.retry_after)
    form = ResetForm(request.POST)
    if not form.is_valid():
        return _ask(request, form)
    email = form.cleaned_data["email"]
    if settings.WAKE_SENDS_MAIL and may_mail_a_reset(request, email):
        password_resets.request_reset(email, address=client_address(request), at=database_now())
    return SeeOther("reset-requested")


@never_cache
@require_safe
def reset_requested(request: HttpRequest) -> HttpResponse:
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    context = {"minutes": minutes, "prints_mail": is_printed()}
    return render(request, "accounts/sign_in/passwords/password_reset_sent.html", context)


class NewPassword(PasswordResetConfirmView):
    """Extends Django's view. That view keeps the token out of the page's address, and so out of the
    page's links."""

    template_name = "accounts/sign_in/passwords/password_reset_new.html"
    form_class = NewPasswordForm
    token_generator = password_resets.tokens

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not settings.WAKE_PASSWORDS:
            return passwords_are_off(request)
        return super().dispatch(request, *args, **kwargs)

    def get_user(self, uidb64: str) -> Any:
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active else None

    @transaction.atomic
    def form_valid(self, form: SetPasswordForm[Any]) -> HttpResponse:
        """Changes the password without signing in, because a mail never signs anyone in. If the
        link is used twice at the same time, the second use fails."""
        user = User.objects.select_for_update().get(pk=cast(User, self.user).pk)
        token = self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        if not self.token_generator.check_token(user, token):
            self.validlink = False
            return self.render_to_response(self.get_context_data())
        new = form.cleaned_data["new_password1"]
        by = person(user, client_address(self.request))
        change_password(user, new, by=by)
        signals.other_browsers_signed_out.send(
            sender=User, user=user, session={}, by=by, at=database_now()
        )
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        messages.success(self.request, CHANGED)
        response = SeeOther("login")
        known_browsers.remember(self.request, response, user.email)
        return response

    def form_invalid(self, form: SetPasswordForm[Any]) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return response

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """Answers 410 for a link that was used, has expired or never existed."""
        status = HTTPStatus.OK if self.validlink else HTTPStatus.GONE
        return super().render_to_response(context, status=status, **kwargs)


def _ask(request: HttpRequest, form: ResetForm, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    sends, prints = settings.WAKE_SENDS_MAIL, is_printed()
    context = {"form": form, "sends_mail": sends, "prints_mail": prints, **context}
    return render(request, "accounts/sign_in/passwords/password_reset.html", context, status=status)
